"""The demo of `make demo`: an invented survey, anonymised so that nobody can be told from four others."""

from __future__ import annotations

from shoal.cli import main

if __name__ == "__main__":
    main(["demo", "--out", "demo-output", "--force"])
