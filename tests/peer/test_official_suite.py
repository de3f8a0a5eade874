"""The official conformance suite of MCP against the reference server: all of its tasks scenarios pass, and core ones.

It comes from npm, so this runs only where a folder for it is named: ``tox -e peer``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcptasks.conformance.wire.names import VERSION
from mcptasks.fixtures.server import HarnessOptions, ServerHandle, start_server
from mcptasks.fixtures.stores import MemoryTaskStore

HERE = Path(__file__).parent
FOLDER = os.environ.get("MCPTASKS_PEER_DIR", "")
SCENARIOS = (
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-status-notifications",
    "tasks-wire-fields",
)
CORE = ("dns-rebinding-protection", "http-header-validation", "tools-list")
"""What it has on the core protocol and asks for no tool of its own."""
WITHOUT_CHECKS = {"tasks-status-notifications"}

pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="MCPTASKS_PEER_DIR names no folder to install the official suite in"),
    pytest.mark.skipif(not shutil.which("node") or not shutil.which("npm"), reason="node or npm is not installed"),
]


@pytest.fixture(scope="module")
def official_suite() -> list[str]:
    """The command of the suite, installed as its lock file says unless it is there already."""
    folder = Path(FOLDER)
    installed = folder / "installed.lock"
    lock = (HERE / "package-lock.json").read_text()
    if not installed.is_file() or installed.read_text() != lock:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder / name)
        npm = shutil.which("npm") or "npm"
        subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=folder, check=True, timeout=600)
        installed.write_text(lock)
    # A Node of the package's own: older ones crash the suite.
    node = folder / "node_modules" / "node" / "bin" / "node"
    return [str(node), str(folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js")]


@pytest.fixture(scope="module", params=["json", "sse"])
def server(request: pytest.FixtureRequest) -> Iterator[ServerHandle]:
    with start_server(MemoryTaskStore, options=HarnessOptions(answers=request.param)) as handle:
        yield handle


def test_the_scenarios_are_all_there_are(official_suite: list[str]) -> None:
    listed = subprocess.run([*official_suite, "list"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert sorted(set(re.findall(r"\btasks-[\w-]+", listed))) == list(SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS + CORE)
def test_passes(official_suite: list[str], server: ServerHandle, scenario: str, tmp_path: Path) -> None:
    command = [*official_suite, "server", "--url", server.url, "--scenario", scenario]
    if scenario in CORE:
        command += ["--spec-version", VERSION]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    counts = re.search(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings", output)
    assert counts is not None, output
    passed, total, failed, warnings = map(int, counts.groups())
    assert (passed, failed, warnings) == (total, 0, 0), output
    assert total > 0 or scenario in WITHOUT_CHECKS, output
