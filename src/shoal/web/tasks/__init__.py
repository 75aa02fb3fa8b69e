"""What worker processes do: each task is a function that takes the line to the server, and returns plain values."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

# Tasks by name: the module and the function.
_HOMES = {
    "catalogue": "catalogue:catalogue",
    "inspect": "inspection:inspect",
    "demo": "inspection:demo",
    "tree": "trees:tree",
    "load_tree": "trees:load_tree",
    "look_at": "inspection:look_at",
    "template": "private:template",
    "read_domain": "private:read_domain",
    "run": "runs:run",
    "check": "runs:check",
    "assess": "others:assess",
    "compare": "others:compare",
}


def task_of(name: str) -> Callable[..., dict[str, Any]]:
    """Return the function of a task."""
    module, function = _HOMES[name].split(":")
    found: Callable[..., dict[str, Any]] = getattr(import_module(f"shoal.web.tasks.{module}"), function)
    return found
