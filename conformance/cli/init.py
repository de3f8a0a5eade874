"""``mcptasks init``: find out what a server's own tools do, and write the file that maps them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mcptasks.conformance.wire.spec import ServerSpec
    from mcptasks.conformance.wire.trying import Found

__all__ = ["init"]


def init(
    url: Annotated[str, typer.Option(metavar="URL", help="Endpoint of a server over Streamable HTTP.")],
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="Header for the server, env:NAME allowed; repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the mapping goes.")] = Path("mcptasks.toml"),
    tries: Annotated[
        bool,
        typer.Option(
            "--try/--no-try",
            help="Call each tool once, with arguments made from its schema, to see what it does; tools that call"
            " themselves destructive are left alone.",
        ),
    ] = True,
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="How long to watch the task of each tool.")] = 5.0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> int:
    """List a server's tools, try them, and write a mapping file to edit, for ``mcptasks run --profile FILE``."""
    import asyncio

    from mcptasks.conformance.cli.output import console, say
    from mcptasks.conformance.errors import UsageError
    from mcptasks.conformance.wire.spec import ServerSpec
    from mcptasks.conformance.wire.trying import mapping_text
    from mcptasks.reports.safe_text import LONG, visible

    if out.suffix != ".toml":
        raise UsageError(f"--out {out}: a mapping file ends in .toml")
    if out.exists() and not force:
        raise UsageError(f"--out {out}: is there already; --force overwrites it")
    if not wait > 0:
        raise UsageError("--wait must be above 0")
    spec = ServerSpec.named(url, header or ())
    tools = asyncio.run(_found(spec, tries, wait))
    screen = console()
    for tool in tools:
        say(screen, f"  {visible(tool.name, LONG)}: {visible(tool.did, LONG)}")
    try:
        out.write_text(mapping_text(tools, spec.name), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written: {error.strerror}") from error
    if any(tool.role not in (None, "plain") for tool in tools):
        say(screen, f"{out} is written: look it through, then run: mcptasks run --url {spec.name} --profile {out}")
    else:
        say(screen, f"{out} is written, but no tool was seen to make a task: name some in it")
    return 0


async def _found(spec: ServerSpec, tries: bool, wait: float) -> list[Found]:
    from mcptasks.conformance.runner.run import tool_version
    from mcptasks.conformance.wire.client import WireClient
    from mcptasks.conformance.wire.trying import list_tools, try_tool

    async with WireClient(spec, spec.url, version=tool_version()) as client:
        tools = await list_tools(client)
        for tool in tools:
            if tool.destructive:
                tool.did = "calls itself destructive: not tried"
            elif tries:
                await try_tool(client, tool, wait)
    return tools
