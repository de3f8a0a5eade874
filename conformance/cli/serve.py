"""``mcptasks serve``: put a task store behind a server of the suite's own."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

__all__ = ["serve"]

_REFERENCES = {
    "2026-07-28": "mcptasks.fixtures.stores.memory:MemoryTaskStore",
    "2025-11-25": "mcptasks.fixtures.stores.memory_2025:MemoryTaskStore2025",
}
_REVISIONS = ("2026-07-28", "2025-11-25", "both")


def serve(
    store: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:ATTR",
            help="Store to serve: module:attr or path/file.py:attr.  [default: the reference store in memory]",
        ),
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="2026-07-28, 2025-11-25, or both at one URL: there the store is that of its own revision, and the"
            " reference store that of the other.  [default: that of the store, 2026-07-28 without one]",
        ),
    ] = None,
    store_arg: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=JSON", help="Argument for the factory; repeatable."),
    ] = None,
    adapter: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Adapter for a store with other methods."),
    ] = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes a free one.")] = 0,
    callers_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Remembers there which caller's (Authorization) each task is, for when it is restarted on its data.",
        ),
    ] = None,
    official_tools: Annotated[
        bool, typer.Option("--official-tools/--no-official-tools", help="The official suite's fixture tools.")
    ] = True,
    control_tools: Annotated[
        bool, typer.Option("--control-tools/--no-control-tools", help="task_open and task_step.")
    ] = True,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Serve over standard input and output instead, until the input ends.")
    ] = False,
) -> int:
    """Serve a task store over Streamable HTTP until interrupted; prints the URL.  Or, with --stdio, over standard input
    and output.

    The server keeps no state of any task: what a client sees is what the store does.
    """
    from mcptasks.conformance.cli.targets import TargetOptions, parse_arguments, targets_of
    from mcptasks.conformance.errors import UsageError
    from mcptasks.conformance.targets.loading import load_source
    from mcptasks.fixtures import server, server_2025

    if revision is not None and revision not in _REVISIONS:
        raise UsageError(f"--revision {revision}: known are {', '.join(_REVISIONS)}")
    if store is None and (adapter is not None or store_arg):
        raise UsageError("--adapter and --store-arg need --store")
    if store is not None:
        # one clear line for a wrong name
        targets_of(TargetOptions(store, tuple(store_arg or ()), adapter, revision="auto"))
    options = server.HarnessOptions(
        official_tools=official_tools, control_tools=control_tools, callers_file=callers_file
    )
    options_2025 = server_2025.HarnessOptions25(fixture_tools=official_tools, control_tools=control_tools)

    def ready(url: str) -> None:
        print(url, flush=True)

    sources = {name: load_source(named, revision=name)[0] for name, named in _REFERENCES.items()}
    served = revision or "2026-07-28"
    if store is not None:
        source, _ = load_source(store, parse_arguments(store_arg or ()), adapter, "auto")
        asyncio.run(source.settle_revision())
        sources[source.revision] = source
        served = revision or source.revision
        if served not in (source.revision, "both"):
            raise UsageError(f"--revision {revision}: {store} is a store of {source.revision}")
    if stdio:
        if served != "2026-07-28":
            raise UsageError("--stdio serves revision 2026-07-28 only")
        server.serve_stdio(sources[served], options=options)
    elif served == "both":
        server_2025.serve_both(
            sources["2026-07-28"],
            sources["2025-11-25"],
            options=options,
            options_2025=options_2025,
            host=host,
            port=port,
            on_ready=ready,
        )
    elif served == "2025-11-25":
        server_2025.serve(sources[served], options=options_2025, host=host, port=port, on_ready=ready)
    else:
        server.serve(sources[served], options=options, host=host, port=port, on_ready=ready)
    return 0
