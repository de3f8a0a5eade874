"""``junit.xml``: a suite for each target, a case for each requirement, for the test views of CI systems.

Its colour is that of the run: cases fail if and only if the outcome is not ``conformant``.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from mcptasks.conformance.events import Finding, RequirementResult
from mcptasks.reports.finding_text import explanation
from mcptasks.reports.run_report import RunReport, TargetReport, verdict_label
from mcptasks.reports.safe_text import LONG, visible, visible_block

__all__ = ["render_junit"]


def render_junit(report: RunReport) -> str:
    """The report as the text of an XML 1.0 document."""
    root = Element("testsuites", name="mcp-tasks-conformance", time=f"{report.seconds:.3f}")
    for target in report.targets:
        _target_suite(root, report, target)
    if not report.targets:
        suite = _suite(root, report, "mcptasks", report.seconds)
        if report.outcome != "conformant":
            reasons = [visible(note.message, LONG) for note in report.notes]
            _problem(_case(suite, "mcptasks", "outcome"), "error", report.outcome, "\n".join(reasons))
        _count(suite)
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _target_suite(root: Element, report: RunReport, target: TargetReport) -> None:
    name = f"{visible(target.target.name)} ({visible(target.target.revision)})"
    suite = _suite(root, report, name, target.seconds)
    findings = target.findings_by_requirement()
    for result in target.requirements:
        case = _case(suite, name, result.id)
        _verdict(case, result, findings.get(result.id, []), expected=result.id in target.expected_failures)
    for number, problem in enumerate(target.baseline_problems, 1):
        _problem(_case(suite, name, f"baseline.{number}"), "failure", problem, problem)
    _count(suite)
    red = int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
    if target.outcome != "conformant" and not red:
        # The outcome has a reason that is no requirement's (nothing listens, nothing was
        # exercised, warnings count): without a case of its own the suite would be green.
        kind = "failure" if target.outcome == "nonconformant" else "error"
        _problem(_case(suite, name, "outcome"), kind, f"{target.outcome}: {target.reason}", target.reason)
        _count(suite)


def _verdict(case: Element, result: RequirementResult, findings: list[Finding], expected: bool) -> None:
    reason = visible(result.reason, LONG)
    full = "\n\n".join(explanation(finding) for finding in findings) or reason
    message = visible(findings[0].message, LONG) if findings else reason
    match result.verdict:
        case "fail" if expected:
            SubElement(case, "skipped", message=f"expected by the baseline: {message}")
            _say(SubElement(case, "system-out"), full)
        case "fail":
            _problem(case, "failure", message, full)
        case "error":
            _problem(case, "error", message, full)
        case "warn":
            _say(SubElement(case, "system-out"), f"warning: {message}\n\n{full}")
        case "not_exercised" | "not_applicable":
            label = verdict_label(result.verdict)
            SubElement(case, "skipped", message=f"{label}: {reason}" if reason else label)
        case "pass":
            if reason:
                _say(SubElement(case, "system-out"), reason)


def _suite(root: Element, report: RunReport, name: str, seconds: float) -> Element:
    started = visible(report.header.started_at)
    return SubElement(root, "testsuite", name=name, time=f"{seconds:.3f}", timestamp=started)


def _case(suite: Element, group: str, name: str) -> Element:
    return SubElement(suite, "testcase", classname=group, name=visible(name), time="0")


def _problem(case: Element, kind: str, message: str, text: str) -> None:
    _say(SubElement(case, kind, message=visible(message, LONG), type=kind), text)


def _say(element: Element, text: str) -> None:
    element.text = visible_block(text)


def _count(suite: Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
