"""``mcptasks replay``: run a saved sequence again, and show whether it still shows its finding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mcptasks.conformance.events import Finding
    from mcptasks.conformance.runner.job import StoreSpec
    from mcptasks.conformance.wire.spec import ServerSpec
    from mcptasks.reports.replay_file import Replay

__all__ = ["replay"]


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A replay file out of a report directory.")],
    store: Annotated[
        str | None,
        typer.Option(metavar="MODULE:ATTR", help="Run it on this store instead of the one that the file names."),
    ] = None,
    store_arg: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=JSON", help="Argument for the factory of --store; repeatable."),
    ] = None,
    adapter: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Adapter for --store."),
    ] = None,
    bridge: Annotated[
        str | None,
        typer.Option(metavar="'CMD …'", help="Run it on the store behind this command instead."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Another server than the one in the file."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="Header for the server, env:NAME allowed; repeatable."),
    ] = None,
    other_header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="Header of the second caller; repeatable."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(metavar="'CMD …'", help="Another server over stdio than the one in the file."),
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="After which a call counts as never ending.")] = 5.0,
    settle: Annotated[float, typer.Option(metavar="SECONDS", help="How long to wait for events that are due.")] = 2.0,
) -> int:
    """Run the sequence of a replay file again, on a fresh store or with fresh tasks on a server.

    Exit codes: 0 the store behaves now, 1 it still shows a deviation, 2 wrong usage, 3 it cannot be used.
    """
    from mcptasks.conformance.cli.output import console, say
    from mcptasks.conformance.engine.settings import Settings
    from mcptasks.conformance.errors import UsageError
    from mcptasks.conformance.runner.environment import child_environment
    from mcptasks.conformance.runner.replaying import replay_in_child
    from mcptasks.conformance.targets.store import StoreOptions
    from mcptasks.reports.replay_file import read_replay

    saved = read_replay(file)
    spec = _server(saved, file, url, header or [], other_header or [], command) or _spec(
        saved, file, store, store_arg or [], adapter, bridge
    )
    try:
        options = StoreOptions.from_json(saved.store_options)
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from error
    out = console()
    say(out, f"replaying {saved.requirement or 'a sequence'} on {spec.name}")
    with child_environment():
        found = replay_in_child(
            spec,
            saved.operations,
            options,
            requirement=saved.requirement or None,
            settings=Settings(timeout=timeout, settle=settle),
        )
    return _show(out, saved, found)


def _server(
    saved: Replay, file: Path, url: str | None, headers: Sequence[str], others: Sequence[str], command: str | None
) -> ServerSpec | None:
    """The server to replay on; ``None`` if it is about a store."""
    from mcptasks.conformance.errors import UsageError
    from mcptasks.conformance.wire.secrets import REDACTED, HeaderLine
    from mcptasks.conformance.wire.spec import ServerSpec

    if saved.target.kind != "server":
        if url is not None or headers or others or command is not None:
            raise UsageError(
                f"{file}: it is about a store; --url, --command, --header and --other-header go with a server"
            )
        return None
    options: Any = saved.target.options
    if url is not None and command is not None:
        raise UsageError("--url and --command name two servers: one target at a time")
    if command is None and url is None:
        command = options.get("command")
    if command is not None:
        return ServerSpec(
            headers=tuple(HeaderLine.parse(text) for text in headers),
            other_headers=tuple(HeaderLine.parse(text) for text in others),
            command=command,
            profile=options.get("profile"),
            mapping=options.get("mapping") or {},
            settle=options.get("settle"),
        )
    lines: list[Sequence[str]] = []
    for option, member, given in (("--header", "headers", headers), ("--other-header", "other_headers", others)):
        kept = [text for text in options.get(member, ()) if isinstance(text, str)]
        if not given and any(REDACTED in text for text in kept):
            raise UsageError(f"{file}: the server was sent headers whose values were not kept; give them with {option}")
        lines.append(given or kept)
    return ServerSpec.named(
        url or str(options.get("url", "")),
        *lines,
        peer_url=str(options.get("peer_url", "")),
        start=options.get("start"),
        restart_command=options.get("restart_command"),
        serve=options.get("serve"),
        profile=options.get("profile"),
        mapping=options.get("mapping") or {},
        settle=options.get("settle"),
        revision=_revision(saved),
    )


def _spec(
    saved: Replay, file: Path, store: str | None, store_args: Sequence[str], adapter: str | None, bridge: str | None
) -> StoreSpec:
    from mcptasks.conformance.cli.targets import TargetOptions, parse_arguments, targets_of
    from mcptasks.conformance.errors import UsageError
    from mcptasks.conformance.runner.job import StoreSpec

    if bridge is None and store is None and not store_args and adapter is None and saved.target.kind == "bridge":
        bridge = str(saved.target.options.get("bridge", ""))
    if bridge is not None or store is not None or store_args or adapter is not None:
        asked = TargetOptions(store, store_args, adapter, _revision(saved), guard=_guard(saved), bridge=bridge)
        given_spec = targets_of(asked)[0].spec
        if (store is not None or bridge is not None) and isinstance(given_spec, StoreSpec):
            return given_spec
        raise UsageError("--store-arg and --adapter go with --store, which is missing")
    named: Any = saved.target.options.get("store")
    if saved.target.kind != "store" or not isinstance(named, str):
        raise UsageError(f"{file}: it names no store that can be opened from here; name one with --store or --bridge")
    given: Any = saved.target.options.get("store_args", saved.target.options.get("store_arg", {}))
    arguments = given if isinstance(given, dict) else parse_arguments([str(text) for text in given or ()])
    with_adapter: Any = saved.target.options.get("adapter")
    return StoreSpec(
        named,
        arguments,
        with_adapter if isinstance(with_adapter, str) else None,
        _revision(saved),
        _guard(saved),
    )


def _guard(saved: Replay) -> Literal["store", "server"]:
    return "server" if saved.target.options.get("guard") == "server" else "store"


def _revision(saved: Replay) -> str:
    return saved.target.revision if saved.target.revision in ("2026-07-28", "2025-11-25") else "auto"


def _show(out: Console, saved: Replay, found: Sequence[Finding]) -> int:
    from mcptasks.conformance.cli.output import say
    from mcptasks.reports.safe_text import LONG, visible
    from mcptasks.reports.sequence_text import steps
    from mcptasks.strategies.operations import sequence_to_json

    for step in steps(sequence_to_json(saved.operations), 60):
        say(out, f"  {'' if step.number is None else step.number:>3}  {step.text}", "cyan")
    # What was looked for comes first; a deviation of another kind is told, and fails too unless it is a warning.
    wanted = [item for item in found if saved.requirement in ("", item.requirement)]
    others = [item for item in found if item not in wanted]
    for item in (*wanted, *others):
        place = f" at step {len(item.operations)}" if len(item.operations) < len(saved.operations) else ""
        style = "red" if item.verdict == "fail" else "yellow"
        say(
            out,
            f"{item.verdict.upper()} {item.requirement} ({item.level}){place}: {visible(item.message, LONG)}",
            style,
        )
        say(out, f"  expected  {visible(item.expected, LONG)}")
        say(out, f"  actual    {visible(item.actual, LONG)}")
        say(out, f"  section   {visible(item.section, LONG)}")
    if wanted:
        say(out, "the finding shows again", "bold red")
        return 1
    if any(item.verdict == "fail" for item in others):
        say(out, "the finding does not show again, but another deviation does", "bold red")
        return 1
    if saved.expected:
        say(out, f"  expected  {visible(saved.expected, LONG)}")
        say(out, f"  before    {visible(saved.actual, LONG)}")
    say(out, "the finding does not show again: the target behaves in this sequence", "bold green")
    return 0
