"""Real servers through the suite, over their URLs; each part runs where its package is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_by_hand import HERE, installed, served

from mcptasks.conformance import check_server
from mcptasks.conformance.baseline import read_baseline
from mcptasks.conformance.catalogue import load_catalogue

FASTMCP = HERE / "baselines" / "fastmcp-4.1.4-server.yaml"


def test_the_baseline_names_requirements_on_servers() -> None:
    bound = {item.id for item in load_catalogue().for_target("server", "2026-07-28")}
    assert set(read_baseline(FASTMCP, load_catalogue().requirements).entries) <= bound


@pytest.mark.skipif(not installed("fastmcp_tasks"), reason="needs fastmcp[tasks]==4.1.4")
def test_fastmcp_deviates_where_it_is_known_to(tmp_path: Path) -> None:
    with served("fastmcp_server.py") as url:
        report = check_server(url, baseline=FASTMCP, report_dir=tmp_path)
    # Nothing but what is known, and every known deviation that was looked for was found: no entry is stale.
    assert report.exit_code == 0, report
    found = {item.requirement for item in report.findings}
    assert found <= set(read_baseline(FASTMCP, load_catalogue().requirements).entries)
    assert found >= {"tasks.status.failed-only-jsonrpc", "http.origin-403", "tasks.shape.updated-settled"}
    assert {item.id for item in report.requirements if item.verdict == "pass"} > {
        "tasks.status.terminal-final",
        "tasks.status.result-exact",
        "tasks.update.effect",
        "tasks.create.durable",
        "tasks.err.get-unknown",
    }


@pytest.mark.skipif(not installed("mcp.server.mcpserver"), reason="needs mcp==2.3.0")
def test_a_server_without_tasks_has_nothing_to_check() -> None:
    with served("mcp2_server.py") as url:
        report = check_server(url)
    assert report.outcome == "inconclusive"
    assert report.exit_code == 4
    assert "offers no tasks" in report.reason
    assert not report.findings
