"""Names in lists, as options take them."""

import pytest

from shoal.options.values import quoted, split


@pytest.mark.parametrize(
    ("text", "names"),
    [("a,b", ["a", "b"]), ('"a,b",c', ["a,b", "c"]), ("a\nb", ["a", "b"]), ("a, b,", ["a", "b"]), ("", [])],
)
def test_lists_of_names(text, names):
    assert split(text) == names


@pytest.mark.parametrize("name", ["age", "a,b", 'a"b', " a ", "two\nlines", "two\r\nlines", "end\n", "ä ß"])
def test_every_name_can_be_given(name):
    assert split(quoted(name)) == [name]
    assert split(f"{quoted(name)},{quoted(name)}") == [name, name]
