"""The suite against three stores of 2025-11-25: it reports what was verified by hand, and nothing else."""

from __future__ import annotations

import json
import re
import shlex
import shutil
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


@pytest.mark.parametrize("seed", ["0"])
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


GUIDE = (HERE.parent.parent / "docs" / "guides" / "check-a-store-in-another-language.md").read_text(encoding="utf-8")


def test_the_guide_does_what_it_tells(tmp_path: Path) -> None:
    """The store of the guide behind its bridge has the fault that is told of, and not when it is cured."""
    built = npm_package(BRIDGES / "typescript", build=True)
    for name in ("bridge.ts", "package.json", "tsconfig.json"):
        shutil.copy(built / name, tmp_path / name)
    (tmp_path / "node_modules").symlink_to(built / "node_modules")
    store, section, cure = re.findall(r"```typescript\n(.*?)```", GUIDE, re.DOTALL)
    bridge = (tmp_path / "bridge.ts").read_text()
    start, end = bridge.index("import { InMemoryTaskStore }"), bridge.index("// --- the protocol")
    (tmp_path / "bridge.ts").write_text(f"{bridge[:start]}{section}\n{bridge[end:]}")
    told = []
    for source in (store, store.replace("    if (job.result) return;\n", cure)):
        (tmp_path / "jobs.ts").write_text(source)
        built_now = subprocess.run(
            ["npm", "run", "--silent", "build"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert built_now.returncode == 0, built_now.stdout
        command = [sys.executable, "-m", "mcptasks.conformance.cli", "run", "--bridge", "node dist/bridge.js"]
        done = subprocess.run(
            [*command, "--budget", "20k"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        told.append((done.returncode, done.stdout))
    assert [code for code, _ in told] == [1, 0]
    excerpt = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)[0]
    assert excerpt.strip("\n") in told[0][1]
    assert "1 with a warning" in told[1][1]
