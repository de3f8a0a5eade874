"""``mcptasks requirements``: what is checked, where it is written, and what proves the check."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated

import typer

from mcptasks.conformance.cli.run import Level

if TYPE_CHECKING:
    from rich.console import Console

    from mcptasks.conformance.catalogue import Requirement
    from mcptasks.conformance.coverage import Coverage
    from mcptasks.strategies.json_values import JSON

__all__ = ["app"]

app = typer.Typer(help="The catalogue of requirements.", invoke_without_command=True)

_JSON = Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")]
_VERDICTS = {
    "fail": "a breach fails",
    "warn": "a breach warns",
    "accept": "every choice is lawful; the report names the one taken",
    "none": "cannot be observed",
}


@app.callback()
def _main(
    context: typer.Context,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Which requirements have a fault that proves their check.")
    ] = False,
    json_: _JSON = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    if not coverage:
        typer.echo(context.get_help())
        raise typer.Exit(2)
    from mcptasks.conformance.cli.output import console, say
    from mcptasks.conformance.coverage import server_coverage, store_coverage
    from mcptasks.reports.json_text import json_text

    found = [
        coverage_of(revision)
        for coverage_of in (store_coverage, server_coverage)
        for revision in ("2026-07-28", "2025-11-25")
    ]
    if json_:
        # Those of the earlier revision have it in their names.
        names = {item.kind if item.revision == "2026-07-28" else f"{item.kind}-{item.revision}": item for item in found}
        say(console(), json_text({name: item.to_json() for name, item in names.items()}, indent=1))
    else:
        for item in found:
            _show_coverage(console(), item)
    raise typer.Exit(1 if any(item.missing for item in found) else 0)


@app.command("list")
def list_(
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Only ids that match, such as 'store.cancel.*'; repeatable."),
    ] = None,
    level: Annotated[Level, typer.Option(help="The weakest to show.")] = Level.may,
    revision: Annotated[
        str, typer.Option(metavar="REVISION", help="2026-07-28 or 2025-11-25; stores and servers.")
    ] = "2026-07-28",
    json_: _JSON = False,
) -> int:
    """Show requirements, one a line."""
    from mcptasks.conformance.cli.output import console, say, table
    from mcptasks.conformance.errors import UsageError
    from mcptasks.reports.json_text import json_text

    found = _selected(select or ["*"], level.value, revision)
    if not found:
        raise UsageError("no requirement of that revision matches; 'mcptasks requirements list' shows them all")
    if json_:
        say(console(), json_text([_as_json(item) for item in found], indent=1))
        return 0
    out = console()
    table(out, ((item.id, item.level, " ".join(item.statement.split())) for item in found), ("cyan", "dim", None))
    say(out, f"{len(found)} requirements", "dim")
    return 0


@app.command("show")
def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Such as store.cancel.true.")],
    json_: _JSON = False,
) -> int:
    """Show one requirement with its source, and the gallery's entries that prove its check."""
    from mcptasks.conformance.catalogue import load_catalogue
    from mcptasks.conformance.cli.output import console, say
    from mcptasks.conformance.errors import UsageError
    from mcptasks.reports.json_text import json_text

    requirement = load_catalogue().find(id_)
    if requirement is None:
        near = difflib.get_close_matches(id_, load_catalogue().requirements, 1, 0.5)
        hint = f"; did you mean '{near[0]}'?" if near else "; 'mcptasks requirements list' shows them"
        raise UsageError(f"no requirement has the id '{id_}'{hint}")
    if json_:
        say(console(), json_text(_as_json(requirement, with_gallery=True), indent=1))
        return 0
    _show(console(), requirement)
    return 0


def _selected(select: list[str], level: str, revision: str) -> list[Requirement]:
    from mcptasks.conformance.catalogue import load_catalogue
    from mcptasks.conformance.errors import UsageError

    catalogue = load_catalogue()
    try:
        bound = {item.id: item for kind in ("store", "server") for item in catalogue.for_target(kind, revision)}
    except ValueError as error:
        raise UsageError(f"--revision: {error}") from error
    wanted = {item.id for item in catalogue.select(select, level=level)}
    return [item for key, item in bound.items() if key in wanted]


def _as_json(requirement: Requirement, with_gallery: bool = False) -> dict[str, JSON]:
    value: dict[str, JSON] = requirement.model_dump(mode="json")
    if with_gallery:
        from mcptasks.fixtures.gallery import FAULTS, VARIANTS

        for name, entries in (("faults", FAULTS), ("variants", VARIANTS)):
            value[name] = [
                {"name": entry.name, "summary": entry.summary}
                for entry in entries
                if requirement.id in entry.requirements
            ]
    return value


def _show(out: Console, requirement: Requirement) -> None:
    from mcptasks.conformance.catalogue import NEEDS
    from mcptasks.conformance.catalogue.unjudged import UNJUDGED
    from mcptasks.conformance.cli.output import say, table
    from mcptasks.fixtures.gallery import FAULTS, VARIANTS

    say(out, requirement.id, "bold")
    say(out, f"  {' '.join(requirement.statement.split())}")
    say(out)
    rows = [("level", requirement.level), ("basis", requirement.basis), ("verdict", _VERDICTS[requirement.verdict])]
    rows += [("source", str(source)) for source in requirement.source]
    rows += [("needs", NEEDS[need]) for need in requirement.needs]
    rows += [("more with", NEEDS[need]) for need in requirement.more_with]
    if requirement.observable.why is not None:
        rows.append(("not seen", requirement.observable.why))
    if requirement.id in UNJUDGED:
        rows.append(("not judged", UNJUDGED[requirement.id]))
    if requirement.test is not None:
        rows += [("operations", requirement.test.operations), ("expected", requirement.test.expect)]
        if requirement.test.false_alarms is not None:
            rows.append(("lawful", requirement.test.false_alarms))
    if requirement.notes is not None:
        rows.append(("notes", requirement.notes))
    table(out, ((f"  {name}", " ".join(text.split())) for name, text in rows), ("dim", None))
    for title, entries in (("faults that prove the check", FAULTS), ("lawful variants that it accepts", VARIANTS)):
        about = [entry for entry in entries if requirement.id in entry.requirements]
        say(out)
        say(out, f"{title}: {len(about) or 'none'}", "bold")
        table(out, ((f"  {entry.name}", entry.summary) for entry in about), ("cyan", None))


def _show_coverage(out: Console, found: Coverage) -> None:
    from mcptasks.conformance.cli.output import say, table

    say(out, f"requirements on a {found.kind}, revision {found.revision}: {found.total}", "bold")
    say(out, f"  implemented  {len(found.implemented):>3}  a planted fault proves the check")
    say(out, f"  excluded     {len(found.excluded):>3}  nothing could prove it, for the reason given")
    say(out, f"  missing      {len(found.missing):>3}")
    if found.excluded:
        say(out)
        say(out, "excluded", "bold")
        table(out, ((f"  {name}", reason) for name, reason in found.excluded.items()), ("cyan", None))
    if found.missing:
        say(out)
        say(out, "missing", "bold red")
        for name in found.missing:
            say(out, f"  {name}")
    if found.kind == "server":
        say(out)
        say(out, "implemented", "bold")
        rows = ((f"  {name}", _proof(found, name)) for name in found.implemented)
        table(out, rows, ("cyan", None))
    say(out)


def _proof(found: Coverage, name: str) -> str:
    accepted = found.variants.get(name, ())
    text = f"finds {', '.join(found.implemented[name])}"
    return f"{text}; accepts {', '.join(accepted)}" if accepted else text
