"""Translates messages of the library to the words of the command line, and makes texts of the data safe to print."""

from __future__ import annotations

import re

from shoal.options.option import flags_of
from shoal.options.table import PLAN, WRITING

FLAGS = flags_of(PLAN) | {"name_of_table": flags_of(WRITING)["name_of_table"]}
_FIELD = "|".join(sorted(FLAGS, key=len, reverse=True))
_RULES: tuple[tuple[str, str], ...] = (
    # {'age': 'nominal'}, {'age': [lowest, .., highest]}
    (rf"\b({_FIELD})=\{{'([^']*)': '([^']*)'\}}", r"<\1> '\2=\3'"),
    (rf"\b({_FIELD})=\{{'([^']*)': \[(.*?), \.\., (.*?)\]\}}", r"<\1> '\2=\3,..,\4'"),
    (rf"\b({_FIELD})=\{{\.\.: '([^']*)'\}}", r"<\1> 'COLUMN=\2'"),
    (rf"\b({_FIELD})=\{{'([^']*)': (\d+)\}}", r"<\1> '\2=\3'"),
    # ['age'], [('lat', 'lon')], [..]
    (rf"\b({_FIELD})=\[\('([^']*)', '([^']*)'\)\] \(--[^)]*\)", r"<\1> \2,\3"),
    (rf"\b({_FIELD})=\['([^']*)'\]", r"<\1> '\2'"),
    (rf"\b({_FIELD})=\[\.\.\]", r"<\1>"),
    (rf"\b({_FIELD})='([^']*)'", r"<\1> \2"),
    (rf"\b({_FIELD})=(?=[ ,.])", r"<\1>"),
    (rf"The '({_FIELD})'(?: option)?(?: of (?:a plan|anonymize|partition|verify))?(?=[ ,])", r"The option <\1>"),
    (rf"two roles: ({_FIELD}) and ({_FIELD})\b", r"two roles: <\1> and <\2>"),
    (rf"\b(?:with|to) ({_FIELD})\b(?=[.(]| \(--)", r"with <\1>"),
)


def in_words_of_the_command_line(message: str) -> str:
    """Return a message of the library with options of the command line in place of Python keywords."""
    message = re.sub(r"missing_values=\[('[^']*'(?:, '[^']*')+)\]", _repeated, message)
    message = re.sub(r"decimal='(.)' \((--decimal .)\)", r"\2", message)
    for pattern, words in _RULES:
        message = re.sub(pattern, words, message)
    message = re.sub(r"<(\w+)>", lambda found: FLAGS.get(found[1], found[0]), message)
    # Messages that name both the keyword and the option keep the option.
    message = re.sub(r"(--[\w-]+)((?: '[^']*')?(?: drops it)?) \(\1[^)]*\)", r"\1\2", message)
    message = re.sub(rf"\((?:{_FIELD}), (--[\w-]+)\)", r"(\1)", message)
    # Those that name them one after the other keep the option as well.
    message = re.sub(rf"\b({_FIELD}) \((--[\w-]+)\)", lambda f: f[2] if FLAGS[f[1]] == f[2] else f[0], message)
    message = re.sub(r"(--qi|--force) \(\1[^)]*\)", r"\1", message)
    message = re.sub(r"\bpass force \(--force\)", "add --force", message)
    message = re.sub(r"The table of (?:anonymize|verify)\b", "The table", message)
    message = message.replace("Hierarchy.uncovered lists them; complete the hierarchy", "complete its file")
    message = message.replace("'blocks', or 'l', 't' and 'models'", "--blocks, or --l, --t and --model")
    message = message.replace("The 'source'", "The input").replace("The 'output'", "The output")
    message = message.replace("pass header=False", "pass --no-header").replace("pass header=True", "pass --header")
    message = message.replace("pass quote=''", "pass --quote none")
    message = message.replace("or pass format='csv'", "or pass --from csv (--to csv for the output)")
    return message.replace("shoal.methods() lists", "'shoal methods' lists").replace("; see shoal.Plan.", ".")


def shown(text: str) -> str:
    """Return a text of the data, such as a name, that prints as itself: on one line and without effect on a terminal.

    Control characters, escape sequences, line ends, marks of the direction of writing and other characters that cannot
    be seen are written as in Python.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def shown_lines(text: str) -> str:
    """Return a text of several lines that is safe to print."""
    return "\n".join(map(shown, text.split("\n")))


def _repeated(found: re.Match[str]) -> str:
    """Return an option that is given once for each marker."""
    return " ".join(f"{FLAGS['missing_values']} {marker}" for marker in re.findall(r"'[^']*'", found[1]))
