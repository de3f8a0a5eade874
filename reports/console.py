"""The console: what is going on while a run lasts, and a summary that says what to do next.

On a terminal one line is kept up to date; elsewhere plain lines come seldom enough for a CI log.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import Progress as LiveProgress
from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from mcptasks.conformance.events import (
    BoundReached,
    Event,
    FindingReported,
    Note,
    Progress,
    RunFinished,
    TargetFinished,
    TargetStarted,
)
from mcptasks.reports.assemble import Assembler
from mcptasks.reports.console_summary import Line, note_lines, summary_lines
from mcptasks.reports.safe_text import LONG, visible

__all__ = ["ConsoleHandler"]

PLAIN_SECONDS: Final = 5.0
"""Least seconds of a target's run between two plain lines."""


class ConsoleHandler:
    """A handler that shows progress and, when the run has finished, the summary.

    Args:
        console: where to; no markup of a target has an effect on it.
        report_dir: named at the end, as where to read on.
        live: whether to keep one line up to date instead of adding lines; by default on a terminal.
    """

    def __init__(self, console: Console, report_dir: Path | None = None, live: bool | None = None) -> None:
        self._console = console
        self._report_dir = report_dir
        # Colours may be forced on for a CI log; a line that moves makes sense on a terminal only.
        self._live = console.is_interactive and console.file.isatty() if live is None else live
        self._assembler = Assembler()
        self._progress: LiveProgress | None = None
        self._task: TaskID | None = None
        self._phase = ""
        self._told = 0.0
        self._found: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Take the next event of the run."""
        self._assembler.add(event)
        match event:
            case TargetStarted():
                self._phase, self._told, self._found = "", 0.0, set()
                self._begin(f"{visible(event.target.name, LONG)} ({visible(event.target.revision)})")
            case Progress():
                self._advance(event)
            case BoundReached():
                self._say([("  done: ", "dim"), (event.statement, "")])
            case FindingReported(finding=finding) if finding.requirement not in self._found:
                self._found.add(finding.requirement)
                style = "red" if finding.verdict == "fail" else "yellow"
                self._say(
                    [(f"  {finding.verdict}: ", style), (finding.requirement, style), (f"  {finding.message}", "")]
                )
            case Note():
                self._tell(note_lines(event))
            case TargetFinished():
                self._end()
            case RunFinished():
                self._end()
                self._tell(summary_lines(self._assembler.report(), self._report_dir))
            case _:
                pass

    def close(self) -> None:
        """Give the terminal back, if the run was broken off; more than once does no harm."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, title: str) -> None:
        self._end()
        self._say([("checking ", ""), (title, "bold")])
        if not self._live:
            return
        self._progress = LiveProgress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._progress.start()

    def _advance(self, event: Progress) -> None:
        rate = event.operations / event.seconds if event.seconds > 0 else 0.0
        state = (
            f"{event.driver}: {event.requirements_exercised}/{event.requirements_total} requirements exercised, "
            f"{event.operations:,} operations, {rate:,.0f}/s"
        )
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=self._encodable(visible(state)))
        elif not self._live and (event.driver != self._phase or event.seconds - self._told >= PLAIN_SECONDS):
            self._phase, self._told = event.driver, event.seconds
            self._say([(f"  {event.seconds:5.1f} s  {state}", "")])

    def _end(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = self._task = None

    def _tell(self, lines: list[Line]) -> None:
        for line in lines:
            self._say(line)

    def _say(self, line: Line) -> None:
        text = Text()
        for part, style in line:
            text.append(_inert(self._encodable(visible(part)), at_start=not text.plain.strip()), style or None)
        # Lines are left to the terminal to wrap: in a log they stay whole, and can be searched.
        self._console.print(text, soft_wrap=True, highlight=False)

    def _encodable(self, text: str) -> str:
        """``text`` in characters that the console's encoding has: an old code page must not end a run."""
        encoding = self._console.encoding
        try:
            text.encode(encoding)
        except (LookupError, UnicodeEncodeError):
            return text.replace("…", "...").encode("ascii", "backslashreplace").decode("ascii")
        return text


def _inert(text: str, at_start: bool) -> str:
    """``text`` without commands to the CI system that keeps the log.

    Those are ``::name::`` at the start of a line, blanks in front or not, and ``##[name]`` or
    ``##vso[name]`` anywhere in it.
    """
    text = text.replace("##", "#\\x23")
    blanks = text[: len(text) - len(text.lstrip())]
    return f"{blanks}\\x3a{text[len(blanks) + 1 :]}" if at_start and text.startswith("::", len(blanks)) else text
