"""``mcptasks report``: make the report files again from the events of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A report directory.")],
) -> int:
    """Make the reports in DIR again from its events.jsonl, also of a run that was broken off."""
    from mcptasks.conformance.cli.output import console, say
    from mcptasks.reports.write import rebuild

    made = rebuild(directory)
    out = console()
    for target in made.targets:
        say(out, f"{target.target.name}: {target.outcome}, {target.reason}")
    cut = " (the run did not come to its end)" if made.truncated else ""
    say(out, f"outcome: {made.outcome}{cut}")
    say(out, f"report: {directory / 'report.html'}")
    return 0
