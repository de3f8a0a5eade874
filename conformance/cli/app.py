"""The commands by name.  Each command's module imports what it needs when it is run."""

from __future__ import annotations

from typing import Annotated

import typer

from mcptasks.conformance.cli import gallery, init, replay, report, requirements, run, serve

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Conformance test suite for MCP Tasks: checks task stores and servers, and says what they do wrong, with proof.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from mcptasks.conformance.catalogue import load_catalogue
        from mcptasks.conformance.runner.run import tool_version

        typer.echo(f"mcptasks {tool_version()} (catalogue {load_catalogue().version})")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


app.command("run", short_help="Check a store or a server, or the references.")(run.run)
app.command("replay", short_help="Run the sequence of a finding again.")(replay.replay)
app.command("init", short_help="Write a file that says what a server's own tools do.")(init.init)
app.command("serve", short_help="Put a store behind a server.")(serve.serve)
app.add_typer(requirements.app, name="requirements")
app.command("report", short_help="Make report files again from events.")(report.report)
app.add_typer(gallery.app, name="gallery")
