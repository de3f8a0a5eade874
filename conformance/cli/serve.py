"""``mcptasks serve``: put a task store behind a server of the suite's own."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["serve"]

_REFERENCE = "mcptasks.fixtures.stores.memory:MemoryTaskStore"


def serve(
    store: Annotated[
        str,
        typer.Option(metavar="MODULE:ATTR", help="Store to serve: module:attr or path/file.py:attr."),
    ] = _REFERENCE,
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
) -> int:
    """Serve a task store over Streamable HTTP (2026-07-28) until interrupted; prints the URL.

    The server keeps no state of any task: what a client sees is what the store does.
    """
    from mcptasks.conformance.cli.targets import TargetOptions, parse_arguments, targets_of
    from mcptasks.conformance.targets.loading import load_source
    from mcptasks.fixtures.server import HarnessOptions
    from mcptasks.fixtures.server import serve as serve_store

    targets_of(TargetOptions(store, tuple(store_arg or ()), adapter))  # one clear line for a wrong name
    source, _ = load_source(store, parse_arguments(store_arg or ()), adapter)
    options = HarnessOptions(official_tools=official_tools, control_tools=control_tools, callers_file=callers_file)
    serve_store(source, options=options, host=host, port=port, on_ready=lambda url: print(url, flush=True))
    return 0
