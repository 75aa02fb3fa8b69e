"""A verified table is itself and no other, and shows nothing of its values."""

import pandas as pd

import shoal
from shoal.release.verified import Verified

FRAME = pd.DataFrame({"age": [30, 30, 41, 41], "name": ["SECRET"] * 4})


def test_equal_tables_are_two_verified_ones():
    audit = shoal.verify(FRAME, ["age"], 2)
    one, other = Verified(FRAME, audit), Verified(FRAME, audit)
    assert one == one
    assert one != other
    assert len({one, other, one}) == 2


def test_it_shows_no_values():
    assert "SECRET" not in repr(Verified(FRAME, shoal.verify(FRAME, ["age"], 2)))


def test_changing_what_it_gives_away_changes_nothing():
    held = Verified(FRAME.copy(), shoal.verify(FRAME, ["age"], 2))
    given = held.table
    given.loc[0, "age"] = 99
    assert held.table["age"].tolist() == [30, 30, 41, 41]
