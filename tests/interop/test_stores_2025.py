"""The suite against three stores of 2025-11-25: it reports what was verified by hand, and nothing else."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from builds import cargo_binary, npm_package

HERE = Path(__file__).parent
BRIDGES = HERE.parent.parent / "fixtures" / "bridges"
BY_HAND = HERE / "verify_stores_2025_by_hand.py"
BASELINES = {
    "mcp": "mcp-1.30.0-store-2025.yaml",
    "typescript": "npm-sdk-1.32.2-store.yaml",
    "rust": "rust-mcp-sdk-1.1.0-store.yaml",
}

# The other two have nothing to do with the Python package; one environment is enough for all.
pytest.importorskip("mcp.shared.experimental.tasks", reason="needs mcp==1.30.0")


def bridge(name: str) -> list[str]:
    """The command of a worked bridge, built as its lock file says."""
    if name == "typescript":
        return ["node", str(npm_package(BRIDGES / name, build=True) / "dist" / "bridge.js")]
    return [str(cargo_binary(BRIDGES / name, "task-store-bridge"))]


def target(name: str) -> list[str]:
    if name == "mcp":
        store = "mcp.shared.experimental.tasks.in_memory_task_store:InMemoryTaskStore"
        return ["--store", store, "--adapter", "mcp-2025"]
    return ["--bridge", shlex.join(bridge(name))]


def entries(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((HERE / "baselines" / BASELINES[name]).read_text())["requirements"]
    return found


@pytest.mark.parametrize("seed", ["0", "1"])
@pytest.mark.parametrize("name", BASELINES)
def test_each_finding_is_in_the_baseline_and_each_entry_is_found(tmp_path: Path, name: str, seed: str) -> None:
    command = [sys.executable, "-m", "mcptasks.conformance.cli", "run", *target(name), "--budget", "12k"]
    options = ["--baseline", str(HERE / "baselines" / BASELINES[name]), "--report-dir", str(tmp_path), "--seed", seed]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["target"]["kind"] == ("store" if name == "mcp" else "bridge")
    found = {finding["requirement"] for finding in report["findings"]}
    must = {requirement for requirement, entry in entries(name).items() if not entry.get("flaky")}
    assert must <= found <= set(entries(name))


@pytest.mark.parametrize("name", BASELINES)
def test_each_fingerprint_was_verified_by_hand(name: str) -> None:
    listed = subprocess.run(
        [sys.executable, str(BY_HAND), name, "--fingerprints"], capture_output=True, text=True, timeout=60, check=True
    ).stdout.split()
    named = {fingerprint for entry in entries(name).values() for fingerprint in entry.get("fingerprints", ())}
    assert named <= set(listed)
    assert {fingerprint.partition("/")[0] for fingerprint in listed} | {"store25.result.session"} >= set(entries(name))


@pytest.mark.parametrize("name", BASELINES)
def test_the_stores_do_what_is_recorded(name: str) -> None:
    command = [] if name == "mcp" else bridge(name)
    done = subprocess.run(
        [sys.executable, str(BY_HAND), name, *command], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
