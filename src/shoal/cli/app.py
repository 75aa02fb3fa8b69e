"""The application with all its commands, for who runs it in a process of their own."""

from __future__ import annotations

from shoal.cli.application import application

app = application()
