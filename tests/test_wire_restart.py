"""A server that a command kills and starts again: what its tasks are behind it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from mcptasks.conformance.engine.wire_server import ServerSource, introduce
from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.probes.phase import Outcome, applicable, find, run_probe
from mcptasks.conformance.wire.client import WireClient
from mcptasks.conformance.wire.restarting import restart
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.fixtures.gallery import Fault, Variant, server_restart_faults

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills by signal")

RESTART = """
import json, os, signal, subprocess, sys
from contextlib import suppress
from pathlib import Path

folder = Path(sys.argv[1])
if (folder / "pid").exists():
    with suppress(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
command = json.loads((folder / "command").read_text())
server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
(folder / "pid").write_text(str(server.pid))
sys.exit(0 if server.stdout.readline().startswith(b"http") else 1)
"""
ENTRY = """
import signal, sys
from mcptasks.fixtures import gallery
from mcptasks.fixtures.gallery.server_base import start_entry

kind, name, port, location = sys.argv[1:]
with start_entry(getattr(gallery, kind)(name), port=int(port), location=location) as server:
    print(server.url, flush=True)
    signal.pause()
"""
SQLITE = "mcptasks.fixtures.stores.sqlite:SqliteTaskStore"
ENTRIES: list[Fault | Variant] = [*server_restart_faults.GROUP.faults, *server_restart_faults.GROUP.variants]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def restartable(folder: Path, command: Sequence[str]) -> Iterator[str]:
    """The command that kills a server, if there is one, and starts ``command``; run once."""
    (folder / "command").write_text(json.dumps(list(command)))
    (folder / "restart.py").write_text(RESTART)
    again = [sys.executable, str(folder / "restart.py"), str(folder)]
    try:
        subprocess.run(again, check=True, timeout=60)
        yield shlex.join(again)
    finally:
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(int((folder / "pid").read_text()), signal.SIGKILL)


def judged(url: str, command: str, exercised: Counter[str]) -> Outcome:
    async def run() -> Outcome:
        spec = ServerSpec(url, restart_command=command)
        async with WireClient(spec, url) as client:
            source = ServerSource(client, (await introduce(client, spec)).profile, spec, url, lambda text: None)
            assert find("restart.tasks") in set(applicable(source))
            return await run_probe(source, find("restart.tasks"), exercised=exercised)

    return asyncio.run(run())


def test_the_sqlite_store_survives_being_killed(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "data").mkdir()
    argument = f"location={json.dumps(str(tmp_path / 'data'))}"
    serve = ["-m", "mcptasks.conformance.cli", "serve", "--store", SQLITE, "--store-arg", argument, "--port", str(port)]
    exercised = Counter[str]()
    with restartable(tmp_path, [sys.executable, *serve]) as command:
        outcome = judged(f"http://127.0.0.1:{port}/mcp", command, exercised)
    assert outcome == Outcome((), "")
    assert exercised["tasks.create.survives-restart"] == 8  # five tasks, and three that had ended


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_a_restart_costs_is_seen(entry: Fault | Variant, tmp_path: Path) -> None:
    port = free_port()
    kind = "fault" if isinstance(entry, Fault) else "variant"
    (tmp_path / "data").mkdir()
    serve = [sys.executable, "-c", ENTRY, kind, entry.name, str(port), str(tmp_path / "data")]
    with restartable(tmp_path, serve) as command:
        outcome = judged(f"http://127.0.0.1:{port}/mcp", command, Counter())
    wanted = list(entry.requirements[:1]) if isinstance(entry, Fault) else []
    assert [breach.requirement for breach in outcome.breaches] == wanted
    for breach in outcome.breaches:
        assert any(line.startswith("# here the server is killed") for line in breach.curl)


@pytest.mark.parametrize(
    ("command", "error", "told"),
    [
        ("", UsageError, "there is no command"),
        ("'", UsageError, "No closing quotation"),
        ("mcptasks-no-such-command", UsageError, "cannot run"),
        (f"{shlex.quote(sys.executable)} -c 'raise SystemExit(3)'", TargetUnusableError, "ended with exit code 3"),
    ],
)
def test_a_command_that_does_not_restart_is_told_in_one_line(command: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as raised:
        asyncio.run(restart(command, asyncio.sleep))
    assert "\n" not in str(raised.value)
