"""``report.html``: the whole report in one file that needs no network and no script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from mcptasks.conformance.events import CoverageCell, Finding
from mcptasks.reports.finding_text import opened_with, times
from mcptasks.reports.run_report import VERDICTS, RunReport, TargetReport, verdict_label
from mcptasks.reports.safe_text import visible
from mcptasks.reports.sequence_text import Step, steps

__all__ = ["render_html"]

_SHOWN_STEPS = 400
_SHOWN_TEXT = 20_000


def render_html(report: RunReport) -> str:
    """The report as an HTML document."""
    return _template().render(
        report=report,
        targets=[_TargetView(f"t{number}", target) for number, target in enumerate(report.targets, 1)],
    )


@dataclass(frozen=True, slots=True)
class _TargetView:
    """A target as the template walks through it."""

    anchor: str
    """Prefix of all anchors of this target."""
    report: TargetReport

    @property
    def matrix(self) -> dict[str, dict[str, int]]:
        """Counts by operation and state; every operation has every state, in order of first appearance."""
        return _matrix(self.report.coverage)

    @property
    def findings(self) -> list[Finding]:
        """All findings, failures first, those of one requirement together."""
        return [finding for group in self.report.findings_by_requirement().values() for finding in group]

    def requirement_anchor(self, requirement: str) -> str:
        """Where the findings of ``requirement`` begin."""
        return f"{self.anchor}-{re.sub(r'[^A-Za-z0-9.-]+', '_', requirement)}"

    def steps(self, finding: Finding) -> list[Step]:
        """The sequence of ``finding``, line by line."""
        return steps(finding.operations, _SHOWN_STEPS)


def _matrix(cells: tuple[CoverageCell, ...]) -> dict[str, dict[str, int]]:
    states = list(dict.fromkeys(cell.state for cell in cells))
    rows: dict[str, dict[str, int]] = {cell.operation: dict.fromkeys(states, 0) for cell in cells}
    for cell in cells:
        rows[cell.operation][cell.state] += cell.count
    return rows


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in options.items())


def _shown(value: object) -> object:
    """What every expression of the template goes through before it is escaped."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value, _SHOWN_TEXT)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("mcptasks.reports", "templates"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["verdicts"] = VERDICTS
    environment.filters["label"] = verdict_label
    environment.filters["times"] = times
    environment.filters["opened_with"] = opened_with
    environment.filters["options"] = _options
    return environment.get_template("report.html.j2")
