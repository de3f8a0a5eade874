"""``report.json``: what machines read.  Its members are part of the external contract, and
``report.schema.json`` beside this module describes them.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from typing import Any, Final

from mcptasks.reports.json_text import json_text
from mcptasks.reports.run_report import RunReport, TargetReport
from mcptasks.strategies.json_values import JSON

__all__ = ["REPORT_SCHEMA", "TOOL_NAME", "json_schema_text", "render_json"]

REPORT_SCHEMA: Final = "mcptasks-report/1"
TOOL_NAME: Final = "mcp-tasks-conformance"


def render_json(report: RunReport) -> str:
    """The report as JSON text: an object for one target, an array for several (or for none)."""
    objects: list[JSON] = [_object(report, target) for target in report.targets]
    return json_text(objects[0] if len(objects) == 1 else objects, indent=1) + "\n"


def json_schema_text() -> str:
    """The JSON Schema (2020-12) that every ``report.json`` obeys."""
    return files("mcptasks.reports").joinpath("report.schema.json").read_text(encoding="utf-8")


def _object(report: RunReport, target: TargetReport) -> dict[str, Any]:
    header = report.header
    return {
        "schema": REPORT_SCHEMA,
        "tool": {"name": TOOL_NAME, "version": header.version, "catalogue": header.catalogue},
        "target": asdict(target.target),
        "outcome": target.outcome,
        "reason": target.reason,
        "truncated": target.truncated,
        "seed": header.seed,
        "budget": header.budget,
        "started_at": header.started_at,
        "seconds": round(target.seconds, 3),
        "operations": target.operations,
        "examples": target.examples,
        "requirements": [asdict(result) for result in target.requirements],
        "findings": [asdict(finding) for finding in target.findings],
        "coverage": [asdict(cell) for cell in target.coverage],
        "bounds": [
            {
                "alphabet": bound.alphabet,
                "depth": bound.depth,
                "sequences": bound.sequences,
                "executed": bound.executed,
                "statement": bound.statement,
            }
            for bound in target.bounds
        ],
        "notes": [{"level": note.level, "message": note.message} for note in (*report.notes, *target.notes)],
        "baseline": {
            "problems": list(target.baseline_problems),
            "expected_failures": list(target.expected_failures),
        },
    }
