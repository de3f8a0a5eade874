"""``mcptasks gallery``: the stores that prove the suite, wrong ones and unusual ones."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(help="Stores that prove the suite.", no_args_is_help=True)


@app.callback()
def _main() -> None:
    pass


@app.command("list")
def list_(
    json_: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> int:
    """Show every entry: its name, the requirement it is about, and one line."""
    from mcptasks.conformance.cli.output import console, say, table
    from mcptasks.fixtures.gallery import FAULTS, VARIANTS
    from mcptasks.reports.json_text import json_text

    if json_:
        entries = [
            {"kind": kind, "name": entry.name, "summary": entry.summary, "requirements": list(entry.requirements)}
            for kind, group in (("fault", FAULTS), ("variant", VARIANTS))
            for entry in group
        ]
        say(console(), json_text(entries, indent=1))
        return 0
    out = console()
    for title, entries_ in ((f"{len(FAULTS)} faults", FAULTS), (f"{len(VARIANTS)} lawful variants", VARIANTS)):
        say(out, title, "bold")
        table(out, ((f"  {entry.name}", entry.summary) for entry in entries_), ("cyan", None))
    return 0
