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
    url: Annotated[str | None, typer.Option(metavar="URL", help="Endpoint of a server over Streamable HTTP.")] = None,
    command: Annotated[
        str | None, typer.Option(metavar="'CMD …'", help="Command that starts a server over stdio.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="Header for the server, env:NAME allowed; repeatable."),
    ] = None,
    revision: Annotated[
        str,
        typer.Option(metavar="REVISION", help="2026-07-28 or 2025-11-25; auto takes the latest that it speaks."),
    ] = "auto",
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
    import shlex

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
    if (url is None) == (command is None):
        raise UsageError("name a server, with --url or with --command")
    spec = ServerSpec.named(url or "", header or (), command=command, revision=revision)
    tools = asyncio.run(_found(spec, tries, wait))
    screen = console()
    for tool in tools:
        say(screen, f"  {visible(tool.name, LONG)}: {visible(tool.did, LONG)}")
    try:
        out.write_text(mapping_text(tools, spec.name), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {out}: cannot be written: {error.strerror}") from error
    if any(tool.role not in (None, "plain") for tool in tools):
        named = f"--url {spec.name}" if command is None else f"--command {shlex.quote(command)}"
        say(screen, f"{out} is written: look it through, then run: mcptasks run {named} --profile {out}")
    else:
        say(screen, f"{out} is written, but no tool was seen to make a task: name some in it")
    return 0


async def _found(spec: ServerSpec, tries: bool, wait: float) -> list[Found]:
    from mcptasks.conformance.engine.wire25_server import speaks_2025
    from mcptasks.conformance.errors import TargetUnusableError
    from mcptasks.conformance.runner.run import tool_version
    from mcptasks.conformance.wire.client import WireClient
    from mcptasks.conformance.wire.stdio_channel import StdioChannel
    from mcptasks.conformance.wire.stdio_transport import STDIO_URL
    from mcptasks.conformance.wire.trying import list_tools, try_tool
    from mcptasks.conformance.wire_2025.trying import find_tools_25

    if spec.revision == "2025-11-25":
        return await find_tools_25(spec, tool_version(), tries=tries, seconds=wait)
    stdio = None if spec.command is None else StdioChannel(spec.command)
    url = spec.url if stdio is None else STDIO_URL
    if stdio is not None:
        await stdio.start()
    try:
        async with WireClient(spec, url, version=tool_version(), stdio=stdio) as client:
            try:
                tools = await list_tools(client)
            except TargetUnusableError:
                if spec.revision != "auto" or stdio is not None or not await speaks_2025(spec, url):
                    raise
                return await find_tools_25(spec, tool_version(), tries=tries, seconds=wait)
            for tool in tools:
                if tool.destructive:
                    tool.did = "calls itself destructive: not tried"
                elif tries:
                    await try_tool(client, tool, wait)
    finally:
        if stdio is not None:
            await stdio.close()
    return tools
