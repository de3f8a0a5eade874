"""The summary at the end of a run, as lines of styled text."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mcptasks.conformance.events import Finding, Note
from mcptasks.reports.finding_text import opened_with, step_lines
from mcptasks.reports.run_report import RunReport, TargetReport, verdict_label
from mcptasks.reports.safe_text import LONG, visible

__all__ = ["Line", "note_lines", "summary_lines"]

Line = list[tuple[str, str]]
"""Parts of one line, each with its style; ``""`` is the terminal's own."""

_STYLES: Final = {
    "conformant": "bold green",
    "nonconformant": "bold red",
    "error": "bold red",
    "fail": "red",
    "warn": "yellow",
    "pass": "green",
}
_SHOWN_STEPS = 30


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def summary_lines(report: RunReport, report_dir: Path | None) -> list[Line]:
    """The summary of ``report``; ``report_dir`` is named as where to read on."""
    lines: list[Line] = []
    for target in report.targets:
        lines += [[], *_target(target)]
    lines.append([])
    if report.truncated or len(report.targets) != 1:
        lines.append([("outcome: ", ""), _styled(report.outcome)])
    if report_dir is not None:
        lines.append([("report: ", "dim"), (str(report_dir / "report.html"), "")])
    return lines


def note_lines(note: Note) -> list[Line]:
    """A note, line by line."""
    style = {"warning": "yellow", "error": "red"}.get(note.level, "dim")
    first, *rest = note.message.rstrip("\n").split("\n")
    return [[(f"  {note.level}: ", style), (first, "")], *([(f"    {line}", "")] for line in rest)]


def _target(target: TargetReport) -> list[Line]:
    info = target.target
    lines: list[Line] = [
        [
            (info.name, "bold"),
            (f" ({info.revision}): ", ""),
            _styled(target.outcome),
            (f"  {visible(target.reason, LONG)}", ""),
        ],
        _counts(target),
        [
            (
                f"  {_count(target.operations, 'operation')} in {_count(target.examples, 'sequence')}, {target.seconds:.1f} s",
                "dim",
            )
        ],
    ]
    lines += [[("  ", ""), (bound.statement, "")] for bound in target.bounds]
    lines += [[("  baseline: ", "red"), (problem, "")] for problem in target.baseline_problems]
    if target.expected_failures:
        lines.append([("  expected by the baseline: ", "dim"), (", ".join(target.expected_failures), "")])
    for requirement, findings in target.findings_by_requirement().items():
        if requirement in target.expected_failures:
            continue
        lines += [[], *_finding(findings[0])]
        if len(findings) > 1:
            lines.append([(f"    and {len(findings) - 1:,} more for {requirement}", "dim")])
    return lines


def _counts(target: TargetReport) -> Line:
    line: Line = [("  ", "")]
    for verdict, count in target.counts().items():
        if count:
            comma = ", " if len(line) > 1 else ""
            line += [(comma, ""), (f"{verdict_label(verdict)} {count}", _STYLES.get(verdict, ""))]
    return line if len(line) > 1 else [("  no requirement was judged", "")]


def _finding(finding: Finding) -> list[Line]:
    style = _STYLES[finding.verdict]
    lines: list[Line] = [
        [
            (f"  {finding.verdict.upper()} ", f"bold {style}"),
            (finding.requirement, style),
            (f" ({finding.level})", "dim"),
        ],
        [("    ", ""), (visible(finding.message, LONG), "")],
        *([(f"    {line}", "")] for line in opened_with(finding)),
        *([(f"    {line}", "cyan")] for line in step_lines(finding, _SHOWN_STEPS)),
        [("    expected  ", "dim"), (visible(finding.expected, LONG), "")],
        [("    actual    ", "dim"), (visible(finding.actual, LONG), "")],
        [("    section   ", "dim"), (visible(finding.section, LONG), "")],
    ]
    if finding.replay_command is not None:
        lines.append([("    replay    ", "dim"), (finding.replay_command, "")])
    if finding.curl:
        lines.append([("    curl      ", "dim"), (f"{len(finding.curl)} commands show it; they are in the report", "")])
    return lines


def _styled(outcome: str) -> tuple[str, str]:
    return outcome, _STYLES.get(outcome, "bold yellow")
