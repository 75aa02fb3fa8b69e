import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from shoal.release.assessments.questions import Figure
from shoal.release.report.assessment import _bars
from shoal.release.report.drawings import _ends, groups_on_axes, quantity, span, tick
from shoal.release.report.drawn_groups import Axes
from shoal.release.report.evidence import Measured, gather_evidence
from shoal.release.report.render import Check, ColumnFacts, Facts, File, render
from shoal.tables.values import Codes, Numbers

EVIL = "<script>alert('x')</script>\"&<b>"
EMPTY_TAGS = {"meta", "br", "path", "rect"}


def evidence_of(d=4, n=600, k=5, name="attribute {}"):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    labels = np.empty(n, dtype=np.int64)
    labels[np.argsort(X[:, 0])] = np.minimum(np.arange(n) // k, n // k - 1)
    means = np.stack([np.bincount(labels, X[:, j]) / np.bincount(labels) for j in range(d)], axis=1)[labels]
    attributes = [Measured(name.format(j), "continuous", Numbers(X[:, j]), Numbers(means[:, j])) for j in range(d)]
    codes = Codes((X[:, 0] > 0).astype(np.int64), (name.format("no"), name.format("yes")))
    attributes.append(Measured(name.format("yes or no"), "boolean", codes, codes))
    return gather_evidence(attributes, X=means[np.unique(labels, return_index=True)[1]], labels=labels, k=k)


def facts_of(evidence=None, **changes):
    columns = (
        ColumnFacts("age", "quasi-identifier", "integer", "mean", 1.0, "inferred"),
        ColumnFacts("city", "quasi-identifier", "nominal", "mode", 2.0),
        ColumnFacts("illness", "sensitive", "nominal", "unchanged"),
        ColumnFacts("remark", "other", "nominal", "unchanged"),
    )
    facts = Facts(
        title="A survey",
        created="2030-01-02",
        version="1.2.3",
        rows=1000,
        k=5,
        k_held=6,
        n_groups=150,
        method="mdav",
        why="it was asked for",
        columns=columns,
        checks=(Check("k by records", True, "The smallest has 6."), Check("identifiers", True, "None is there.")),
        loss=0.12,
        loss_by_attribute=(("age", 0.05), ("city", 0.46), ("sex", None)),
        left_out=2,
        missing_rule="A missing value is a value.",
        notes=("Weights entered means.",),
        plan="k: 5\nmethod: mdav\n",
        withheld=("identifiers", "levels"),
        output=File("b.csv", 1000, "b" * 64),
        versions=(("numpy", "2.0"),),
        evidence=evidence,
    )
    return dataclasses.replace(facts, **changes)


class Page(HTMLParser):
    """Checks that every tag is closed, and gathers tags, attributes and text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.words, self.styles = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in EMPTY_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.styles if self.open and self.open[-1] == "style" else self.words).append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))


@pytest.fixture(scope="module")
def page():
    return Page(render(facts_of(evidence_of())))


def test_it_says_what_happened(page):
    for words in (
        "A survey",
        "Every record shares its published quasi-identifiers with at least 5 others.",
        "a chance of at most 1 in 6",
        "All 2 checks of the published table passed",
        "1,000each of them in a group",
        "12 %",
        "46 %",
        "sexnot told",
        "2 columns that identify people or units directly, or that were not to be published, were removed.",
        "age and city",
        "Weights entered means.",
        "the same value in illness",
        "illness and remark",
        "l-diversity",
        "k: 5 method: mdav",
        "names of what is not published: identifiers and levels.",
        "b" * 64,
        "Shoal 1.2.3, numpy 2.0",
        "2030-01-02",
    ):
        assert words in page.text, words


def test_it_is_one_file_without_scripts(page):
    html = render(facts_of(evidence_of()))
    assert not re.search(r"https?:|//[a-z]|@import|url\(", html)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "img", "object", "embed", "base"}
    for _, attributes in page.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]


def test_links_lead_somewhere(page):
    places = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = [attributes["href"][1:] for tag, attributes in page.tags if tag == "a"]
    assert len(links) == 9
    assert set(links) <= places


def test_it_is_accessible(page):
    assert ("html", {"lang": "en"}) in page.tags
    assert [tag for tag, _ in page.tags].count("h1") == 1
    for tag, attributes in page.tags:
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or (attributes["role"] == "img" and attributes["aria-label"])
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
    style = "".join(page.styles)
    assert "@media print" in style
    assert "prefers-color-scheme: dark" in style


def test_names_and_texts_are_escaped():
    file = File(EVIL, 1, EVIL)
    facts = facts_of(
        evidence_of(name=EVIL + "{}"),
        title=EVIL,
        created=EVIL,
        version=EVIL,
        method=EVIL,
        why=EVIL,
        k_units=5,
        columns=tuple(
            ColumnFacts(EVIL, role, EVIL, "unchanged", 1.0, EVIL)
            for role in ("identifier", "quasi-identifier", "sensitive", EVIL)
        ),
        checks=(Check(EVIL, True, EVIL),),
        loss_by_attribute=((EVIL, 0.5),),
        missing_rule=EVIL,
        notes=(EVIL,),
        warnings=(EVIL,),
        plan=EVIL,
        withheld=(EVIL,),
        output=file,
        versions=((EVIL, EVIL),),
    )
    html = render(facts)
    page = Page(html)
    assert "<script" not in html
    assert "<b>" not in html
    assert EVIL in page.text
    assert not {tag for tag, _ in page.tags} & {"script", "b"}


def test_the_same_facts_give_the_same_bytes():
    assert render(facts_of(evidence_of())) == render(facts_of(evidence_of()))


def test_a_failed_check_is_the_headline():
    checks = (Check("k by records", False, "The smallest has 2."), Check("identifiers", True))
    page = Page(render(facts_of(k_held=2, checks=checks)))
    assert "This table does not satisfy the demands." in page.text
    assert "k = 2 holds, and 1 of 2 checks failed. Do not publish it." in page.text
    assert "✗ failed" in page.text
    assert "Every record shares" not in page.text


@pytest.mark.parametrize(("k_held", "k_units"), [(4, None), (9, 4)])
def test_a_k_below_the_wanted_one_is_a_failure_even_if_no_check_says_so(k_held, k_units):
    text = Page(render(facts_of(k_held=k_held, k_units=k_units))).text
    assert "This table does not satisfy the demands." in text


def test_units_are_what_counts():
    text = Page(render(facts_of(k_held=9, k_units=5))).text
    assert "with records of at least 4 others, counting units" in text
    assert "at most 1 in 5" in text
    assert "9 counting records" in text


def test_blocks_are_said_honestly():
    html = render(facts_of(k_blocks=5, k_held=1))
    text = Page(html).text
    assert "Within each block of attributes, every record shares its published values with at least 4 others." in text
    assert "For all quasi-identifiers together, only k = 1 holds" in text
    assert 'class="verdict limited"' in html


def test_without_an_audit_nothing_is_called_passed():
    html = render(facts_of(checks=()))
    assert 'class="verdict limited"' in html
    assert "has not been audited" in html
    assert "Checks passed" not in html


def test_how_far_from_the_best_possible(page):
    assert "best possible" not in page.text
    text = Page(render(facts_of(gap="at most 5 % above the best possible", nearness="It is proven."))).text
    assert "about, of the variation of the quasi-identifiers; at most 5 % above the best possible" in text
    assert "All attributes together lost about 12 %. It is proven." in text
    assert "proven to be the best possible" in render(facts_of(gap="0 %: proven", nearness="x"))
    assert "unknown" not in render(facts_of(gap="unknown: the bound is 0"))


def test_a_limit_of_time_is_said_where_it_matters(page):
    assert "The same plan on the same data gives the same release." in page.text
    text = Page(render(facts_of(by_clock=True))).text
    assert "gives the same release" not in text
    assert "may give slightly different groups" in text


def test_warnings_are_shown():
    text = Page(render(facts_of(warnings=("Rows keep their order.",)))).text
    assert "Weakens the protection. Rows keep their order." in text


@pytest.mark.parametrize("d", [1, 2, 60])
def test_any_number_of_attributes(d):
    html = render(facts_of(evidence_of(d)))
    page = Page(html)
    assert page.text.count("continuous") >= d
    assert len(html) < 800_000


def test_one_group_and_nothing_published():
    gone = Numbers(np.full(100, np.nan))
    none = Codes(np.full(100, -1), ())
    attributes = [
        Measured("constant", "integer", Numbers(np.full(100, 7.0)), Numbers(np.full(100, 7.0))),
        Measured("gone", "date", Numbers(np.arange(100.0)), gone),
        Measured("none", "nominal", none, none),
        Measured("interval", "continuous", Numbers(np.arange(100.0)), Codes(np.zeros(100, int), ("[0, 100)",))),
    ]
    evidence = gather_evidence(attributes, X=np.zeros((1, 2)), labels=np.zeros(100, int), k=5)
    text = Page(render(facts_of(evidence, n_groups=1))).text
    assert "The only group has 100 records." in text
    assert "Nothing was published." in text
    assert "[0, 100)" in text
    assert "the original is not drawn" in text


def test_facts_alone_are_enough():
    facts = Facts("t", "2030", "1", 10, 2, 2, 5, "mdav", (ColumnFacts("a", "quasi-identifier"),), (Check("k", True),))
    text = Page(render(facts)).text
    assert "with at least 1 other." in text
    assert "10each of them in a group" in text
    assert "The check of the published table passed" in text


@pytest.mark.parametrize(
    ("value", "kind", "spread", "words"),
    [
        (None, "continuous", None, "–"),
        (2972.4, "continuous", 1730.0, "2,970"),
        (1.5, "continuous", 1.27, "1.50"),
        (-0.0001, "continuous", 1.0, "0.00"),
        (-31.553, "continuous", 1.45, "−31.55"),
        (1.5e150, "continuous", 1e149, "1.5e+150"),
        (0.0, "continuous", 0.0, "0"),
        (0.0, "date", 10.0, "1970-01-01"),
        (400.0, "date", 100.0, "1971-02"),
        (400.0 * 86_400_000_000, "datetime", 86_400_000_000.0, "1971-02-05"),
        (1e12, "date", 1.0, "day 1e+12"),
    ],
)
def test_quantities(value, kind, spread, words):
    assert quantity(value, kind, spread) == words


def test_spans_and_ticks():
    assert span(1461.0, "date") == "4.0 years"
    assert span(86_400_000_000.0 * 3, "datetime") == "3 days"
    assert span(12.345) == "12.3"
    assert tick(49.6, "integer", 65.0) == "50"
    assert tick(0.0, "continuous", 2.0) == "0"
    assert tick(-0.001, "continuous", 2.0) == "0"
    assert tick(5330.4, "continuous", 9000.0) == "5,300"


@pytest.mark.parametrize(
    ("values", "ends"), [([0.0, 0.0], (-1, 1)), ([2.0, 5.0], (0, 5)), ([-3.0, -1.0], (-3, 0)), ([-1.0, 4.0], (-1, 4))]
)
def test_axes_go_through_zero_and_have_a_length(values, ends):
    assert _ends(values) == ends


def test_dots_and_rules_of_groups_have_the_same_scale():
    drawn = str(groups_on_axes(Axes(((0.0, 0.0, 5), (3.0, 2.0, 5), (-1.0, -2.0, 7)), 3, (0.6, 0.3)), 5))
    (rule,) = re.findall(r'class="rule" d="M([\d.]+) 1V\d+M1 ([\d.]+)H', drawn)
    assert f"M{rule[0]} {rule[1]}h0" in drawn  # the group whose mean is that of the table


def test_bars_of_shares_and_of_other_figures_have_lengths_of_their_own():
    none, share, most, half = (float("nan"), False), (0.75, True), (0.5, False), (0.25, False)
    figures = [Figure("x", "x", *value) for value in (none, share, most, half)]
    assert [bar.length for bar in _bars(tuple(figures))] == [0.0, 0.75, 1.0, 0.5]
