"""What notebooks show of a release: the summary and the pictures say what the certificate says, and no more."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import OptionError, ShoalError
from shoal.release.report.plots import PICTURES
from shoal.release.report.render import MOST

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
EVIL = "<b onclick=x>&amp; $a_1$ \u202e\n"


def table(n=300):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "name": [f"person{i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "pay": np.round(rng.uniform(1000, 5000, n), 2),
            "town": rng.choice(["north", "south", "west"], n),
            "rent": rng.uniform(300, 1500, n).round(),
            "ill": rng.choice(["flu", "none", "gout"], n),
        }
    )


ROLES = {"identifiers": ["name"], "sensitive_attributes": ["ill"], "method": "mdav"}


@pytest.fixture(scope="module")
def release():
    return shoal.anonymize(table(), k=5, **ROLES)


class Read(HTMLParser):
    """Reads a page: its words, its tags, and whether what was opened is closed."""

    def __init__(self, page):
        super().__init__()
        self.words, self.tags, self.open = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).replace("\N{NO-BREAK SPACE}", " ").split())


def test_the_summary_tells_what_the_certificate_tells(release):
    page = Read(release._repr_html_())
    figures = release.certificate["figures"]
    assert not page.open
    assert f"300 rows in {release.audit.classes} groups, k = 5, loss {100 * figures['loss']:g} %" in page.text
    assert "Every record shares its published quasi-identifiers with at least 4 others." in page.text
    for name, loss in figures["by_attribute"].items():
        assert f"{name}" in page.text
        assert loss is None or f"{100 * loss:g} %" in page.text
    widths = [float(width) for width in re.findall(r'<div style="width: ([\d.]+)%', release._repr_html_())]
    assert widths == sorted((100 * loss for loss in figures["by_attribute"].values() if loss is not None), reverse=True)


def test_the_summary_has_no_exact_figure_and_nothing_that_is_left_out(release):
    page = release._repr_html_()
    for exact in (release.loss, *release.losses.by_attribute.values()):
        assert f"{100 * exact:.3g} %" not in Read(page).text
    assert "person" not in page
    assert "name" not in Read(page).text.split()


def test_the_summary_needs_no_style_sheet_and_has_no_colour_of_its_own_for_text(release):
    page = Read(release._repr_html_())
    assert {tag for tag, _ in page.tags} <= {"div", "span", "b", "table", "caption", "tbody", "tr", "th", "td", "code"}
    colours = re.findall(r"(?<![-\w])color: ([^;\"]+)", release._repr_html_())
    assert set(colours) == {"inherit"}


def test_the_summary_can_be_read_aloud(release):
    tags = Read(release._repr_html_()).tags
    assert ("role", "group") in tags[0][1].items()
    assert "aria-label" in tags[0][1]
    headings = [attributes.get("scope") for tag, attributes in tags if tag == "th"]
    assert headings == ["row"] * 4
    hidden = [tag for tag, attributes in tags if attributes.get("aria-hidden") == "true"]
    assert hidden == ["td"] * 4  # the bars, whose figures stand beside them
    assert [tag for tag, _ in tags].count("caption") == 1


def test_the_summary_tells_demands_units_blocks_and_warnings():
    people = table().append_column("house", pa.array([str(i // 2) for i in range(300)]))
    demanded = shoal.anonymize(people, k=3, **ROLES, l=2, unit="house")
    page = Read(demanded._repr_html_()).text
    assert "ill : l = 2 (distinct). In the worst of" in page.replace("ill:", "ill :")
    assert "counting units. k = 3 was wanted, counting units." in page
    assert "house" not in page
    apart = shoal.anonymize(table(), k=3, **ROLES, blocks="each")
    page = Read(apart._repr_html_()).text
    assert "k = 3 in each block" in page
    assert all(f"Weakens the protection. {words}" in page for words in apart.warnings)
    assert apart.warnings


def test_names_are_escaped():
    people = table().select(["age", "pay"]).rename_columns([EVIL, "pay"])
    release = shoal.anonymize(people, k=3, method="mdav")
    page = release._repr_html_()
    assert "onclick=x>" not in page
    assert "&lt;b onclick=x&gt;&amp;amp;" in page
    assert EVIL in "".join(Read(page).words)


def test_many_attributes_are_cut_short():
    rng = np.random.default_rng(0)
    wide = pa.table({f"a{i}": rng.normal(size=60) for i in range(MOST + 3)})
    release = shoal.anonymize(wide, k=3, method="mdav")
    page = Read(release._repr_html_())
    assert [tag for tag, _ in page.tags].count("tr") == MOST
    assert "and 3 more with a lower loss" in page.text


# --- pictures ---


def words_of(figure):
    from matplotlib.text import Text

    return [found.get_text() for found in figure.findobj(Text) if found.get_text()]


@pytest.mark.parametrize("what", PICTURES)
def test_pictures_are_figures_that_notebooks_show(release, what):
    from matplotlib.figure import Figure

    figure = release.plot(what)
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")
    words = words_of(figure)
    assert ("Group sizes" in words) == (what in ("all", "sizes"))
    assert any(text.startswith("Loss by attribute") for text in words) == (what in ("all", "loss"))
    assert any("before (grey) and after (blue)" in text for text in words) == (what in ("all", "columns"))


def test_pictures_show_what_the_certificate_tells(release):
    certificate = release.certificate
    (axes,) = release.plot("loss").axes
    losses = sorted((100 * (loss or 0) for loss in certificate["figures"]["by_attribute"].values()), reverse=True)
    assert [bar.get_width() for bar in axes.patches] == losses
    (axes,) = release.plot("sizes").axes
    assert [bar.get_height() for bar in axes.patches] == list(certificate["group_sizes"].values())
    assert [tick.get_text() for tick in axes.get_xticklabels()] == list(certificate["group_sizes"])


def test_pictures_of_columns_are_those_of_the_report(release):
    drawn = [axes for axes in release.plot("columns").axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in drawn] == [one.name for one in release.evidence.distributions]
    age, pay, town, rent = release.evidence.distributions
    for axes, one in ((drawn[0], age), (drawn[1], pay), (drawn[3], rent)):
        assert [patch.get_data().values.tolist() for patch in axes.patches] == [list(one.before), list(one.after)]
    longest = max(*town.before, *town.after)
    widths = [bar.get_width() for bar in drawn[2].patches]
    told = [count / longest for pair in zip(town.before, town.after, strict=True) for count in pair]
    assert widths == pytest.approx(told)


def test_pictures_hold_no_value_that_is_not_in_the_report():
    secret = table().set_column(2, "pay", pa.array([*np.linspace(2000, 3000, 299), 987_654.0]))
    release = shoal.anonymize(secret, k=3, **ROLES)
    public = json.dumps(release.certificate) + release.report()
    numbers = {text for text in words_of(release.plot("columns")) if re.fullmatch(r"[\d,.]+", text)}
    assert numbers
    assert all(number in public for number in numbers)
    assert "987" not in "".join(words_of(release.plot()))


def test_names_are_drawn_as_they_are():
    people = table().select(["age", "pay"]).rename_columns([EVIL, "pay"])
    figure = shoal.anonymize(people, k=3, method="mdav").plot()
    figure.draw_without_rendering()  # a formula would fail or change
    assert r"<b onclick=x>&amp; $a_1$ …" in words_of(figure)
    assert all(text.isprintable() for text in words_of(figure))


def test_a_column_that_publishes_one_value_is_drawn():
    few = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 1.0, 1.0, 1.0], "c": [None, None, 1, None]})
    figure = shoal.anonymize(few, k=4, quasi_identifiers=["a", "b", "c"]).plot()
    assert figure._repr_png_()
    assert {"only 2.5", "no published value"} & set(words_of(figure))


def test_other_pictures_are_refused(release):
    with pytest.raises(OptionError, match=r"Got 'size'\. Hint: did you mean 'sizes'\?"):
        release.plot("size")


def test_without_matplotlib_the_error_says_what_to_install(release, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ShoalError, match=r"needs the package matplotlib.*pip install 'shoal\[plot\]'"):
        release.plot()


def test_the_summary_does_not_load_matplotlib():
    code = (
        "import sys, pyarrow as pa, shoal\n"
        "r = shoal.anonymize(pa.table({'a': [1, 2, 8, 9]}), k=2, method='mdav'); r._repr_html_()\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
