"""The deviations recorded for foreign packages are still there; each part runs where its package is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from builds import cargo_binary, npm_package

HERE = Path(__file__).parent


def installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@contextmanager
def served(*command: str) -> Iterator[str]:
    """The URL of a server that runs meanwhile: a Python script of ``servers/``, or any command."""
    if command[0].endswith(".py"):
        command = (sys.executable, str(HERE / "servers" / command[0]), "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def by_hand(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.skipif(not installed("mcp.shared.experimental.tasks"), reason="needs mcp==1.30.0")
def test_the_sdk_store_does_what_is_recorded() -> None:
    done = by_hand("verify_mcp_by_hand.py")
    assert done.returncode == 0, done.stdout + done.stderr


def server_2025(name: str) -> tuple[str, ...]:
    """The command of a server of revision 2025-11-25 by its name; built if it has to be, skipped where it cannot be."""
    # They have nothing to do with the Python packages, so one environment is enough for them.
    if not installed("mcp.shared.experimental.tasks"):
        pytest.skip("needs mcp==1.30.0")
    if name == "typescript":
        return "node", str(npm_package(HERE / "servers" / "typescript") / "server.mjs")
    if name == "rust":
        return (str(cargo_binary(HERE / "servers" / "rust", "interop-rust-server")),)
    return ("mcp_1_server.py",)


@pytest.mark.parametrize("name", ["mcp", "typescript", "rust"])
def test_servers_of_2025_do_what_is_recorded(name: str) -> None:
    with served(*server_2025(name)) as url:
        done = by_hand("verify_servers_2025_by_hand.py", name, url)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not installed("fastmcp_tasks"), reason="needs fastmcp[tasks]==4.1.4")
def test_the_fastmcp_server_does_what_is_recorded() -> None:
    with served("fastmcp_server.py") as url:
        done = by_hand("verify_fastmcp_by_hand.py", url)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not installed("mcp.server.mcpserver"), reason="needs mcp==2.3.0")
def test_the_plain_sdk_server_offers_no_tasks() -> None:
    httpx = pytest.importorskip("httpx")
    version = "2026-07-28"
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    with served("mcp2_server.py") as url:
        answer = httpx.post(
            url,
            json={"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}},
            headers={
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": version,
                "Mcp-Method": "server/discover",
            },
            timeout=20,
        ).json()
    assert version in answer["result"]["supportedVersions"]
    assert "io.modelcontextprotocol/tasks" not in answer["result"]["capabilities"].get("extensions", {})
