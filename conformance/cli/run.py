"""``mcptasks run``: check targets, report, and say by the exit code how it went."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mcptasks.conformance.events import Event
    from mcptasks.conformance.runner.run import Target

__all__ = ["run"]

REPORT_DIR = Path("mcptasks-report")


class Level(StrEnum):
    """The weakest requirements to check."""

    must = "must"
    should = "should"
    may = "may"


class FailOn(StrEnum):
    """The weakest verdict that counts as a failure."""

    fail = "fail"
    warn = "warn"


def _shown(arguments: list[str], targets: list[Target]) -> list[str]:
    """The command line without secrets."""
    out = ["mcptasks", *arguments]
    for target in targets:
        if target.spec.kind == "server":
            out = [target.spec.redactor.text(text) for text in out]
    return out


def run(
    store: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:ATTR",
            help="Class, factory or instance: module:attr or path/file.py:attr."
            " Without it the embedded reference stores are checked.",
        ),
    ] = None,
    store_arg: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=JSON", help="Argument for the factory; repeatable."),
    ] = None,
    adapter: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Adapter for a store with other methods: a short name (mcp, mcp-2025) or module:attr.",
        ),
    ] = None,
    bridge: Annotated[
        str | None,
        typer.Option(
            metavar="'CMD …'",
            help="Command that starts a store in any language: newline-delimited JSON-RPC on its stdin and stdout.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Endpoint of a server over Streamable HTTP: http://host/mcp."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: VALUE'",
            help="Header for the server; env:NAME in it stands for an environment variable; repeatable.",
        ),
    ] = None,
    other_header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: VALUE'",
            help="Header of a second caller, who must not get at the first one's tasks; repeatable.",
        ),
    ] = None,
    peer_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Second replica of the same deployment, where its tasks must be found too."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="'CMD …'", help="Command that starts the server; without --url it prints its URL."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(metavar="'CMD …'", help="Command that starts a server over stdio: on its stdin and stdout."),
    ] = None,
    restart_command: Annotated[
        str | None,
        typer.Option(
            metavar="'CMD …'",
            help="Command that kills the server hard, starts it on the same data, and returns when it is up.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.toml",
            help="Tools to drive a server with: control, official, or a file that maps its own ('mcptasks init' writes"
            " one); by default the richest that it offers.",
        ),
    ] = None,
    max_requests: Annotated[
        int | None, typer.Option(metavar="N", help="Send a server at most so many requests.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="N", help="Send a server at most so many requests a second.")
    ] = None,
    revision: Annotated[
        str,
        typer.Option(
            metavar="REVISION",
            help="2026-07-28 or 2025-11-25; auto tells it by a store's methods, or takes the latest that a server speaks.",
        ),
    ] = "auto",
    guard: Annotated[
        str,
        typer.Option(
            metavar="WHO",
            help="Who keeps ended tasks of 2025-11-25 as they are: the store, or the server above it.",
        ),
    ] = "store",
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Requirements to check, such as 'store.cancel.*'; repeatable."),
    ] = None,
    level: Annotated[Level, typer.Option(help="The weakest requirements to check.")] = Level.may,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="BUDGET",
            help="Calls (200k, 2M: equal seeds give equal verdicts) or time for each target (8s, 2m)."
            " By default 450k calls of a store, 100k over a bridge, 1800 requests to a server.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="After which a call counts as never ending."),
    ] = 5.0,
    settle: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="How long to wait for what is due: events of a store (2 s), effects on a server (2 s or 5 polls;"
            " with the official tools 10 s or 20).",
        ),
    ] = None,
    memory_limit: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Of a target's process, which is killed above it."),
    ] = "2G",
    fail_fast: Annotated[
        bool,
        typer.Option("--fail-fast/--keep-going", help="Stop at the first finding that counts."),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Ask that every selected MUST is exercised.")] = False,
    fail_on: Annotated[FailOn, typer.Option(help="With warn, a warning counts like a failure.")] = FailOn.fail,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML file of failures that are expected, with reasons."),
    ] = None,
    report_dir: Annotated[Path, typer.Option(metavar="DIR", help="Where the report files go.")] = REPORT_DIR,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no files.")] = False,
) -> int:
    """Check a task store or a server; without --store, --bridge, --url and --command the embedded references.

    Exit codes: 0 conformant, 1 nonconformant, 2 wrong usage, 3 target unusable, 4 inconclusive,
    5 a fault of the suite itself, 130 interrupted.
    """
    from mcptasks.conformance.cli.held import HeldBack
    from mcptasks.conformance.cli.output import console
    from mcptasks.conformance.cli.targets import TargetOptions, targets_of
    from mcptasks.conformance.outcomes import JudgementOptions
    from mcptasks.conformance.runner.environment import child_environment
    from mcptasks.conformance.runner.options import read_memory, read_options
    from mcptasks.conformance.runner.run import run_targets
    from mcptasks.reports.console import ConsoleHandler
    from mcptasks.reports.write import ReportWriter

    named = TargetOptions(
        store,
        tuple(store_arg or ()),
        adapter,
        revision,
        url,
        tuple(header or ()),
        tuple(other_header or ()),
        peer_url,
        start,
        restart_command,
        profile,
        max_requests,
        rate,
        settle,
        command,
        guard,
        bridge,
    )
    targets = targets_of(named)
    options = read_options(
        budget=budget,
        seed=seed,
        select=tuple(select or ()),
        level=level.value,
        baseline=baseline,
        timeout=timeout,
        settle=2.0 if settle is None else settle,
        judgement=JudgementOptions(strict=strict, fail_on_warn=fail_on is FailOn.warn),
        fail_fast=fail_fast,
        memory_limit=read_memory(memory_limit),
        named="--{}".format,
        kind="server" if named.is_server else "store",
        revisions=named.revisions,
    )
    directory = None if no_report else report_dir

    with ExitStack() as stack:
        stack.enter_context(child_environment())
        shown = stack.enter_context(ConsoleHandler(console(), directory))

        def opens() -> Callable[[Event], None]:
            return shown if directory is None else stack.enter_context(ReportWriter(directory, forward=shown))

        held = HeldBack(opens)
        code = run_targets(targets, options, held, command=_shown(sys.argv[1:], targets), default_budget=budget is None)
        held.release()
        return code
