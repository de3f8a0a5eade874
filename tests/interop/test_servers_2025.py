"""Real servers of 2025-11-25 through the suite, over their URLs; those that are not Python are built first."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_by_hand import HERE, served, server_2025

from mcptasks.conformance import check_server
from mcptasks.conformance.baseline import read_baseline
from mcptasks.conformance.catalogue import load_catalogue

BASELINES = {
    "mcp": HERE / "baselines" / "mcp-1.30.0-server.yaml",
    "typescript": HERE / "baselines" / "npm-sdk-1.32.2-server.yaml",
    "rust": HERE / "baselines" / "rust-mcp-sdk-1.1.0-server.yaml",
}
BUDGET = 520
"""Requests for sequences: enough for each of the deviations below, and a minute on a quiet machine."""
FOUND = {
    "mcp": {
        "tasks25.create.result",
        "tasks25.err.internal",
        "tasks25.list.bad-cursor",
        "tasks25.result.error-same",
        "tasks25.result.terminal",
        "tasks25.shape.ttl",
        "tasks25.tool.required-error",
    },
    "typescript": {
        "tasks25.get.unknown",
        "tasks25.rel.ignore-in-ops",
        "tasks25.result.error-same",
        "tasks25.tool.required-error",
    },
    "rust": {
        "tasks25.life.cancelled-sticky",
        "tasks25.list.bad-cursor",
        "tasks25.result.blocks",
        "tasks25.result.error-same",
        "tasks25.result.terminal",
        "tasks25.shape.ttl",
        "tasks25.tool.required-error",
    },
}
"""What changes what a client sees, and must be found with this budget."""
PASSED = {
    "tasks25.cancel.terminal-error",
    "tasks25.create.working",
    "tasks25.life.from-working",
    "tasks25.result.exact",
    "tasks25.result.related-task",
}
"""What all three are right about."""


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_name_requirements_on_servers(name: str) -> None:
    bound = {item.id for item in load_catalogue().for_target("server", "2025-11-25")}
    entries = set(read_baseline(BASELINES[name], load_catalogue().requirements).entries)
    assert FOUND[name] <= entries <= bound


@pytest.mark.parametrize("name", BASELINES)
def test_servers_deviate_where_they_are_known_to(name: str, tmp_path: Path) -> None:
    entries = set(read_baseline(BASELINES[name], load_catalogue().requirements).entries)
    with served(*server_2025(name)) as url:
        report = check_server(url, revision="2025-11-25", budget=BUDGET, report_dir=tmp_path)
    assert report.outcome == "nonconformant", report
    found = {item.requirement for item in report.findings}
    assert found <= entries, report
    assert found >= FOUND[name], report
    assert {item.id for item in report.requirements if item.verdict == "pass"} >= PASSED, report
