"""What releases have in common: a report, and files that are verified before they get their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from shoal.progress import Progress

if TYPE_CHECKING:
    from os import PathLike

    from shoal.io import Source
    from shoal.plan import Plan


class Reported:
    """A release with a plan and the file that was read, which writes its report."""

    __slots__ = ()

    if TYPE_CHECKING:
        plan: Plan
        source: Source | None

    def _page(self) -> str:
        """Return the report as HTML."""
        raise NotImplementedError

    def report(self, path: str | PathLike[str] | None = None, *, force: bool = False) -> str:
        """Return the report as HTML, and write it to `path` if given."""
        page = self._page()
        if path is not None:
            from shoal.release.files import write_text
            from shoal.release.job import Job

            Job(self.plan, self.source, report=path, force=force).check_files()
            write_text(page, path, force=force)
        return page


class Saved(Reported):
    """A release that also writes itself."""

    __slots__ = ()

    def save(
        self,
        path: str | PathLike[str],
        *,
        certificate: str | PathLike[str] | None = None,
        record: str | PathLike[str] | bool = True,
        report: str | PathLike[str] | None = None,
        force: bool = False,
        progress: Progress | bool | None = None,
        **options: Any,
    ) -> Self:
        """Write the release; it is read again and verified before the file gets its name.

        Parameters
        ----------
        path : path or address
            A file or a database, see :func:`shoal.io.write`.
        certificate, report : path or None
            Where to write them. Both may be published.
        record : path or bool
            Where to write the record, which is not to be published. True: beside the release, as OUT.record.json, if
            there is a certificate. False: nowhere.
        force : bool
            Whether to overwrite existing files.
        progress : callable, True or None
            True draws a bar in a notebook or on a terminal.
        **options
            Options of :func:`shoal.io.write`.

        Returns
        -------
        Release or PrivateTable
            This release, with the hash of the file in its certificate.
        """
        from shoal.release.files import save

        how: dict[str, Any] = {"certificate": certificate, "record": record, "report": report, "force": force}
        saved: Self = save(self, path, progress=progress, **how, **options)  # type: ignore[type-var]
        return saved
