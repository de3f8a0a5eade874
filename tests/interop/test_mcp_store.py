"""The suite against the in-memory store of PyPI mcp: it reports what was verified by hand, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcptasks.conformance import check_sequence

STORE = "mcp.shared.experimental.tasks.in_memory_task_store:InMemoryTaskStore"
HERE = Path(__file__).parent
BASELINE = HERE / "baselines" / "mcp-1.30.0-store.yaml"

pytest.importorskip("mcp.shared.experimental.tasks", reason="needs mcp==1.30.0")


def run(folder: Path, baseline: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, ``report.json`` and output of a run against the store."""
    command = [sys.executable, "-m", "mcptasks.conformance.cli", "run", "--store", STORE, "--adapter", "mcp"]
    options = ["--budget", "40k", "--baseline", str(baseline), "--report-dir", str(folder), *more]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    return done.returncode, json.loads((folder / "report.json").read_text()), done.stdout


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The baseline with a change, in a file of its own."""
    value = yaml.safe_load(BASELINE.read_text())
    change(value["requirements"])
    path = folder / "baseline.yaml"
    path.write_text(yaml.safe_dump(value))
    return path


def expected_fingerprints() -> set[str]:
    entries = yaml.safe_load(BASELINE.read_text())["requirements"].values()
    return {fingerprint for entry in entries for fingerprint in entry["fingerprints"]}


@pytest.mark.parametrize("seed", ["0", "1"])
def test_each_finding_is_in_the_baseline_and_each_entry_is_found(tmp_path: Path, seed: str) -> None:
    code, report, output = run(tmp_path, BASELINE, "--seed", seed)
    assert code == 0, output
    assert {finding["fingerprint"] for finding in report["findings"]} == expected_fingerprints()
    for finding in report["findings"]:
        # Raising on an ended task, and sharing results, are warnings; a changed payload is a failure.
        warns = finding["aspect"] == "return" or finding["requirement"] == "store.get.snapshot"
        assert finding["verdict"] == ("warn" if warns else "fail"), finding["fingerprint"]


def test_each_finding_was_verified_by_hand() -> None:
    command = [sys.executable, str(HERE / "verify_mcp_by_hand.py"), "--fingerprints"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split()
    assert set(listed) == expected_fingerprints()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda entries: entries.pop("store.cancel.no-late-payload"), "FAIL store.cancel.no-late-payload"),
        (
            lambda entries: entries["store.completed.terminal-noop"]["fingerprints"].pop(0),
            "FAIL store.completed.terminal-noop",
        ),
        (lambda entries: entries.update({"store.get.pure": {"reason": "none"}}), "store.get.pure: the entry is stale"),
        (
            lambda entries: entries["store.failed.terminal-noop"].update({"expires": "2020-01-01"}),
            "store.failed.terminal-noop: the entry expired",
        ),
    ],
    ids=["entry missing", "fingerprint missing", "stale", "expired"],
)
def test_a_baseline_that_does_not_fit_fails(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], told: str
) -> None:
    code, _, output = run(tmp_path / "report", changed(tmp_path, change), "--budget", "15k")
    assert code == 1, output
    assert told in output


@pytest.mark.parametrize("what", ["returned", "given"])
def test_results_are_shared_with_their_reader_and_with_their_writer(what: str) -> None:
    sequence = [
        {"op": "create", "as": "t1"},
        {"op": "complete", "task": "t1", "result": {}},
        {"op": "tamper", "task": "t1", "what": what},
    ]
    found = check_sequence(STORE, sequence, adapter="mcp")
    assert [finding.requirement for finding in found] == ["store.get.snapshot"]
