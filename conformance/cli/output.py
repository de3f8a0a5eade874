"""Writing to the terminal: quietly done when nobody reads on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress

from rich.console import Console
from rich.text import Text

__all__ = ["QuietConsole", "console", "say", "table"]


class QuietConsole(Console):
    """A console that falls silent when its pipe is closed, so that a run goes on and keeps its exit code."""

    def on_broken_pipe(self) -> None:
        """Say no more."""
        self.quiet = True
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console() -> Console:
    """A console on standard output."""
    return QuietConsole(highlight=False)


def say(out: Console, text: str = "", style: str | None = None) -> None:
    """One line of text as it is: no markup, not wrapped in a log."""
    out.print(Text(text, style or ""), soft_wrap=True)


def table(out: Console, rows: Iterable[Sequence[str]], styles: Sequence[str | None]) -> None:
    """Rows in aligned columns; the last column is wrapped to the terminal's width, and whole in a log."""
    rows = list(rows)
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    indent = sum(widths) + 2 * len(widths)
    room = out.width - indent if out.is_terminal else 0
    for row in rows:
        line = Text()
        for column, width in enumerate(widths):
            line.append(f"{row[column]:<{width}}  ", styles[column] or None)
        first, *rest = _wrapped(row[-1], room)
        line.append(first, styles[-1] or None)
        for more in rest:
            line.append(f"\n{' ' * indent}{more}", styles[-1] or None)
        out.print(line, soft_wrap=True)


def _wrapped(text: str, room: int) -> list[str]:
    import textwrap

    return (textwrap.wrap(text, room) if room >= 24 else [text]) or [""]
