"""The report directory: what is in it, when it is written, and how it is made again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from mcptasks.conformance.events import Event, FindingReported, RunFinished, RunStarted
from mcptasks.reports.assemble import Assembler
from mcptasks.reports.errors import ReportError
from mcptasks.reports.events_file import EventsFile, read_events
from mcptasks.reports.html import render_html
from mcptasks.reports.json_report import render_json
from mcptasks.reports.junit import render_junit
from mcptasks.reports.markdown import render_markdown
from mcptasks.reports.proof_files import PROOF_PATH, locate, write_all_proofs, write_proofs
from mcptasks.reports.run_report import RunReport
from mcptasks.reports.text_file import write_text

__all__ = ["EVENTS_NAME", "Handler", "ReportWriter", "rebuild", "write_reports"]

Handler = Callable[[Event], None]
"""What takes the events of a run, one by one, in one thread."""

EVENTS_NAME: Final = "events.jsonl"

# Not parsed: a header that was cut off, or that of another version, marks the directory as ours too.
_HEADER_START: Final = f'{{"event": "{RunStarted.event}"'.encode("ascii")

_RENDERERS: Final[dict[str, Callable[[RunReport], str]]] = {
    "report.json": render_json,
    "junit.xml": render_junit,
    "summary.md": render_markdown,
    "report.html": render_html,
}


def write_reports(report: RunReport, directory: Path) -> None:
    """Write ``report.json``, ``junit.xml``, ``summary.md`` and ``report.html``.

    Raises:
        ReportError: one cannot be written.
    """
    for name, render in _RENDERERS.items():
        write_text(directory / name, render(report))


def rebuild(directory: Path) -> RunReport:
    """Make all reports and proof files of ``directory`` again, from its events alone.

    Raises:
        EventsError: there are no events in it, or they are damaged.
        ReportError: a file cannot be written.
    """
    assembler = Assembler()
    for event in read_events(directory / EVENTS_NAME).events:
        assembler.add(event)
    report = assembler.report()
    write_all_proofs(report, directory)
    write_reports(report, directory)
    return report


class ReportWriter:
    """A handler that owns the report directory.

    Events and the files that prove a finding are written as they come, the reports when the run
    has finished, or at :meth:`close` when it never does.

    Args:
        directory: as the user named it; made if it is missing.  What an earlier run left in it is
            removed, other files are left alone.
        forward: gets every event after it was written, findings with the paths of their files.

    Raises:
        ReportError: the directory cannot be made or used; later, a file in it cannot be written.
    """

    def __init__(self, directory: Path, forward: Handler | None = None) -> None:
        self._directory = directory
        self._forward = forward
        self._assembler = Assembler()
        self._seed = 0
        self._written = False
        try:
            directory.mkdir(parents=True, exist_ok=True)
            _clear(directory)
        except OSError as error:
            raise ReportError(f"cannot use {directory} for reports: {error.strerror or error}") from error
        self._events = EventsFile(directory / EVENTS_NAME)

    def __call__(self, event: Event) -> None:
        """Take the next event of the run."""
        if isinstance(event, FindingReported):
            target = self._assembler.target_of(event.target)
            event = replace(event, finding=locate(event.finding, target, self._directory))
        elif isinstance(event, RunStarted):
            self._seed = event.seed
        # The event comes first: the next run finds by it the files that it has to remove.
        self._events(event)
        self._assembler.add(event)
        if isinstance(event, FindingReported):
            write_proofs(event.finding, self._assembler.target_of(event.target), self._seed, self._directory)
        elif isinstance(event, RunFinished):
            self._write()
        if self._forward is not None:
            self._forward(event)

    def close(self) -> None:
        """Write the reports on what was learned, unless they are written; more than once does no harm."""
        self._events.close()
        if self._assembler.started and not self._written:
            self._write()

    def _write(self) -> None:
        report = self._assembler.report()
        # An interrupt may have come between an event and its files.
        write_all_proofs(report, self._directory, only_missing=True)
        write_reports(report, self._directory)
        self._written = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _clear(directory: Path) -> None:
    """Remove what an earlier run wrote, and nothing else.

    Raises:
        ReportError: a file has a report's name and no events say that a run wrote it.
        OSError: a file cannot be removed.
    """
    earlier = directory / EVENTS_NAME
    reports = [directory / name for name in _RENDERERS if (directory / name).exists()]
    if not earlier.exists():
        if reports:
            raise ReportError(f"cannot use {directory} for reports: {reports[0].name} in it is not of an earlier run")
        return
    lines = earlier.read_bytes().splitlines()
    if lines and not lines[0].startswith(_HEADER_START):
        raise ReportError(f"cannot use {directory} for reports: {EVENTS_NAME} in it is not of an earlier run")
    for line in lines:
        # Read leniently: an event of another version must not keep its files in place.
        finding = _json_object(line).get("finding")
        for member in ("replay", "pytest_file"):
            path = finding.get(member) if isinstance(finding, dict) else None
            if isinstance(path, str) and PROOF_PATH.fullmatch(path):
                (directory / path).unlink(missing_ok=True)
    # The events go last, so that an interrupt in between is mended by the next run.
    for path in (*reports, earlier):
        path.unlink(missing_ok=True)


def _json_object(line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
