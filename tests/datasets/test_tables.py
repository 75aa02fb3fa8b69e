from itertools import combinations

import numpy as np
import pytest

from shoal.datasets import Table, companies
from shoal.errors import OptionError


def partitions(records, k):
    """Yield every partition of the tuple `records` into groups of at least k, each once."""
    if not records:
        yield ()
        return
    first, rest = records[0], records[1:]
    # The first record's group decides; what is left must be empty or still be enough for a group.
    for size in range(k, len(records) + 1):
        if 0 < len(records) - size < k:
            continue
        for others in combinations(rest, size - 1):
            left = tuple(r for r in rest if r not in others)
            for tail in partitions(left, k):
                yield ((first, *others), *tail)


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_companies_is_the_published_table():
    table = companies()
    assert table.name == "companies"
    assert table.columns == ("surface", "employees", "turnover", "net_profit")
    assert table.quasi_identifiers == ("surface", "employees")
    assert table.data.shape == (11, 4)
    assert table.data.dtype == np.float64
    assert table.data.flags.c_contiguous
    assert len(set(table.row_names)) == 11
    # The record that the paper's example follows: about a dozen employees on 50 square metres.
    k_and_k = table.row_names.index("K&K Sarl")
    assert table.data[k_and_k].tolist() == [50, 12, 645_223, 333_010]
    # The published group means of table 2 are those of the three optimal groups.
    X = table.select()
    assert np.allclose(X[[0, 1, 2, 9]].mean(axis=0), [747.5, 45.75])
    assert np.allclose(X[[3, 4, 8]].mean(axis=0), [756.67, 8.33], atol=0.01)
    assert np.allclose(X[[5, 6, 7, 10]].mean(axis=0), [322.5, 33])


def test_the_published_optimum_of_companies_by_enumeration():
    Z = standardized(companies().select())
    # SST = 22 is what says that the paper divides by n: dividing by n - 1 would make it 20.
    assert np.isclose((Z**2).sum(), 22)
    known = {}

    def sse(group):
        if group not in known:
            points = Z[list(group)]
            known[group] = ((points - points.mean(axis=0)) ** 2).sum()
        return known[group]

    losses = sorted((sum(map(sse, groups)), groups) for groups in partitions(tuple(range(11)), 3))
    # 11!/(3!3!5!2!) + 11!/(3!4!4!2!) + C(11,3) + C(11,4) + C(11,5) + 1
    assert len(losses) == 4620 + 5775 + 165 + 330 + 462 + 1
    assert losses[0][1] == ((0, 1, 2, 9), (3, 4, 8), (5, 6, 7, 10))
    # 7.48479...: the paper prints 7.484, cut and not rounded.
    assert losses[0][0] == pytest.approx(7.484795, abs=1e-6)
    assert losses[0][0] / 22 == pytest.approx(0.34, abs=5e-3)
    assert losses[1][0] > losses[0][0] + 1e-6


def test_every_call_gives_a_table_of_its_own():
    companies().data[:] = 0
    assert companies().data.min() > 0


def test_select_gives_columns_in_the_order_asked_for():
    table = companies()
    assert np.array_equal(table.select("employees", "surface"), table.data[:, [1, 0]])
    assert np.array_equal(table.select(), table.data[:, :2])
    assert table.select("turnover").shape == (11, 1)
    assert table.select("employees", "surface").flags.c_contiguous
    table.select()[:] = 0
    assert table.data.min() > 0


def test_select_refuses_an_unknown_column():
    with pytest.raises(OptionError, match=r"must name columns of the table 'companies'\. Got 'employes'") as e:
        companies().select("employes")
    assert "did you mean 'employees'" in str(e.value)


def test_a_table_is_frozen_and_does_not_show_its_values():
    table = companies()
    assert repr(table) == "Table('companies', 11 records, 4 columns)"
    assert isinstance(table, Table)
    with pytest.raises(AttributeError):
        table.name = "other"
    assert table == table
    assert table != companies()
