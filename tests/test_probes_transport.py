"""Probes of the transport and of creation: silent on lawful servers, and each planted fault found under its own name."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest
from probe_driver import Probed, probe
from wire_servers import raw_server

from mcptasks.conformance.probes import Probe, creation, ids, refusals, routing, transport
from mcptasks.fixtures.gallery import fault, server_creation_faults, server_http_faults, server_http_variants
from mcptasks.fixtures.gallery.registry import Fault, Variant
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.fixtures.server import HarnessOptions, start_server
from mcptasks.fixtures.stores import MemoryTaskStore
from mcptasks.strategies import operations

GROUPS = (transport.GROUP, routing.GROUP, creation.GROUP, ids.GROUP)
OURS = {item.name for group in GROUPS for item in group.probes}
FAULTS = [*server_http_faults.GROUP.faults, *server_creation_faults.GROUP.faults]

# What an ASGI application cannot do wrong, or only lawful servers show; tested below or by the client's own tests.
WITHOUT_FAULT = {"http.header-name-case", "http.name-whitespace"}
# Broken by faults of the client's own checks, which see every answer.
ELSEWHERE = {"http.response-type", "http.accel-buffering"}
# Every choice is lawful.
CHOICES = {"tasks.ttl.server-fail", "tasks.ttl.server-delete"}


def ours(item: Probe) -> bool:
    return item.name in OURS


def only(name: str) -> Callable[[Probe], bool]:
    return lambda item: item.name == name


def probe_in_time(url: str, name: str) -> Probed:
    """Run one probe; again if the machine was too busy for its waits to tell something."""
    found = probe(url, only(name))
    for _ in range(4):
        if "too late" not in found.skipped.get(name, ""):
            break
        found = probe(url, only(name))
    return found


def told(found: Probed) -> list[str]:
    return [f"{breach.requirement}: {breach.message} ({breach.actual})" for breach in found.breaches]


# --- lawful servers ----------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["control", "official"])
@pytest.mark.parametrize("answers", ["negotiate", "sse"])
def test_the_reference_server_passes(profile: str, answers: str) -> None:
    options = HarnessOptions(
        control_tools=profile == "control",
        job_delay_s=0.05,
        answers=answers,  # type: ignore[arg-type]
    )
    with start_server(MemoryTaskStore, options=options) as server:
        found = probe(server.url, ours)
    assert told(found) == []
    skipped = {"http.version-older", "create.ttl"}
    assert set(found.skipped) == skipped
    judged = {name for group in GROUPS for item in group.probes for name in item.requirements}
    out_of_reach = {"tasks.ttl.no-early-discard", "tasks.err.get-unknown", *CHOICES}
    if profile == "control":
        out_of_reach |= {"tasks.sec.entropy"}
    else:
        out_of_reach |= {"tasks.status.get-pure", "tasks.status.terminal-payload-stable", "tasks.create.unique-id"}
    assert {name for name in judged if not found.exercised[name]} == out_of_reach


@pytest.mark.parametrize("entry", server_http_variants.GROUP.variants, ids=lambda entry: entry.name)
def test_a_lawful_variant_is_not_accused(entry: Variant) -> None:
    with start_entry(entry) as server:
        found = probe(server.url, ours)
    assert told(found) == []


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("short-lives-are-kept-to", ("tasks.ttl.server-delete", "deleted")),
        ("expired-tasks-are-kept", ("tasks.ttl.server-delete", "kept")),
        ("expired-tasks-fail", ("tasks.ttl.server-fail", "failed")),
    ],
)
def test_what_comes_behind_the_ttl_is_told(name: str, choice: tuple[str, str]) -> None:
    (entry,) = (item for item in server_http_variants.GROUP.variants if item.name == name)
    with start_entry(entry) as server:
        found = probe_in_time(server.url, "create.ttl")
    assert told(found) == []
    assert found.choices[choice] == 1
    assert found.exercised["tasks.ttl.no-early-discard"] == 1


# --- planted faults ----------------------------------------------------------------------------


@pytest.mark.parametrize("entry", FAULTS, ids=lambda entry: entry.name)
def test_a_planted_fault_is_found(entry: Fault) -> None:
    first = entry.counterexample[0]
    if isinstance(first, operations.Probe):
        with start_entry(entry) as server:
            found = probe_in_time(server.url, first.name)
    else:  # with the control tools the campaign looks at the ids
        with start_entry(entry) as server:
            found = probe(server.url, only("ids.guessable"), profile="official")
            if found.skipped:  # the machine was too busy
                found = probe(server.url, only("ids.guessable"), profile="official")
            assert not found.skipped
    assert found.requirements[:1] == [entry.requirements[0]]
    assert found.breaches[0].curl


def test_every_requirement_has_a_fault() -> None:
    judged = {name for group in GROUPS for item in group.probes for name in item.requirements}
    planted = {name for entry in FAULTS for name in entry.requirements}
    assert judged - planted == WITHOUT_FAULT | ELSEWHERE | CHOICES
    assert planted <= judged


# --- faults below HTTP libraries ---------------------------------------------------------------

_REFUSAL = b'{"jsonrpc":"2.0","error":{"code":-32020,"message":"Header mismatch"}}'
_REFUSED = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n"
    + f"Content-Length: {len(_REFUSAL)}\r\n\r\n".encode()
    + _REFUSAL
)


async def _cancel(host: str, port: int, task_id: str) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "proxy", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    }
    params = {"taskId": task_id, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": params}).encode()
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tasks/cancel",
        f"Mcp-Name: {task_id}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    reader, writer = await asyncio.open_connection(host, port)
    writer.write("\r\n".join([*head, "", ""]).encode() + body)
    await reader.read()
    writer.close()


@contextmanager
def proxied(refuses: re.Pattern[bytes] | None = None, *, cancels: bool = False) -> Iterator[str]:
    """The reference server behind a proxy that breaks one rule.

    Args:
        refuses: requests with such bytes in them are refused.
        cancels: the tasks that were created on a connection are cancelled when it is closed, before another is served.
    """
    with start_server(MemoryTaskStore) as server:
        parts = urlsplit(server.url)
        host, port = str(parts.hostname), int(parts.port or 0)

        doomed: set[asyncio.Task[None]] = set()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if doomed:
                await asyncio.wait(set(doomed), timeout=20)
            serving = asyncio.current_task()
            assert serving is not None
            upstream, onward = await asyncio.open_connection(host, port)
            created: list[str] = []

            async def back() -> None:
                while data := await upstream.read(2**16):
                    if b'"resultType":"task"' in data:
                        if cancels:
                            doomed.add(serving)
                        created.extend(re.findall(r'"taskId":"([^"]+)"', data.decode()))
                    writer.write(data)
                writer.close()

            returning = asyncio.ensure_future(back())
            try:
                with suppress(ConnectionError):
                    while data := await reader.read(2**16):
                        if refuses is not None and refuses.search(data):
                            writer.write(_REFUSED)
                            await writer.drain()
                            break
                        onward.write(data)
                onward.close()
                if cancels:
                    for task_id in created:
                        await _cancel(host, port, task_id)
            finally:
                returning.cancel()
                doomed.discard(serving)

        with raw_server(handle) as url:
            yield url


@pytest.mark.parametrize(
    ("refuses", "name", "requirement"),
    [
        (re.compile(rb"\r\nmcp-method:"), "http.header-name-case", "http.header-name-case"),
        (re.compile(rb"\r\nMCP-METHOD:"), "http.header-name-case", "http.header-name-case"),
        (re.compile(rb"\r\nMcp-Name: [ \t]"), "http.name-blanks", "http.name-whitespace"),
        (re.compile(rb"\r\nMcp-Name: [^\r]*[ \t]\r\n"), "http.name-blanks", "http.name-whitespace"),
    ],
)
def test_headers_are_compared_as_http_means_them(refuses: re.Pattern[bytes], name: str, requirement: str) -> None:
    with proxied(refuses) as url:
        assert probe(url, only(name)).requirements == [requirement]
    with proxied() as url:
        assert told(probe(url, only(name))) == []


def test_a_task_that_dies_with_its_connection_is_found() -> None:
    with proxied(cancels=True) as url:
        assert probe(url, only("http.disconnect")).requirements == ["http.disconnect-keeps-task"]
    with proxied() as url:
        assert told(probe(url, only("http.disconnect"))) == []


@pytest.mark.parametrize("local", [True, False])
def test_an_intermediary_may_refuse_headers_without_a_message(local: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # A server of this machine has none in front of it.
    monkeypatch.setattr(refusals, "is_local", lambda session: local)
    with start_entry(fault("mismatch-has-no-body")) as server:
        (breach,) = probe(server.url, only("http.method-absent")).breaches
    assert breach.requirement == "http.mismatch-has-body"
    assert breach.warning is not local
