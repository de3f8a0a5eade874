"""``summary.md``: the report as a CI job summary or a comment shows it (GitHub-flavoured Markdown).

Text of a target stands in code spans and fenced blocks that it cannot close, all other text is
escaped, so nothing in it becomes a link, a mention, markup or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mcptasks.conformance.events import Finding
from mcptasks.reports.finding_text import opened_with, step_lines
from mcptasks.reports.run_report import RunReport, TargetReport, verdict_label
from mcptasks.reports.safe_text import LONG, visible

__all__ = ["code_block", "code_span", "escaped", "render_markdown"]

_SHOWN_FINDINGS = 25
"""In full, for each target: job summaries are limited in size, and the HTML report has them all."""


_SHOWN_COMMANDS = 20


def render_markdown(report: RunReport) -> str:
    """The report as Markdown."""
    return "\n".join(_document(report)).rstrip() + "\n"


def _document(report: RunReport) -> Iterator[str]:
    yield f"## MCP Tasks conformance: {report.outcome}"
    yield ""
    if report.truncated:
        yield "The run did not come to its end; this is what was known by then."
        yield ""
    yield from _bullets(f"{note.level}: {escaped(note.message, LONG)}" for note in report.notes)
    for target in report.targets:
        yield from _target(target)
    header = report.header
    yield (
        f"mcp-tasks-conformance {escaped(header.version)}, catalogue {escaped(header.catalogue)}, "
        f"seed {header.seed}, budget {escaped(header.budget)}, {report.seconds:.1f} s"
    )


def _target(target: TargetReport) -> Iterator[str]:
    yield f"### {code_span(target.target.name)}: {target.outcome}"
    yield ""
    yield f"{target.target.kind}, revision {escaped(target.target.revision)}. {escaped(target.reason, LONG)}"
    yield ""
    counts = target.counts()
    yield "| " + " | ".join(verdict_label(verdict) for verdict in counts) + " |"
    yield "|" + " ---: |" * len(counts)
    yield "| " + " | ".join(str(count) for count in counts.values()) + " |"
    yield ""
    yield (
        f"{target.operations:,} operations in {target.examples:,} sequences, {target.seconds:.1f} s, "
        f"{sum(cell.count > 0 for cell in target.coverage):,} pairs of operation and state met."
    )
    yield ""
    yield from _bullets(escaped(bound.statement, LONG) for bound in target.bounds)
    yield from _bullets(f"baseline: {escaped(problem, LONG)}" for problem in target.baseline_problems)
    yield from _bullets(f"expected by the baseline: {code_span(id_)}" for id_ in target.expected_failures)
    yield from _bullets(f"{note.level}: {escaped(note.message, LONG)}" for note in target.notes)
    yield from _findings(target)


def _findings(target: TargetReport) -> Iterator[str]:
    for shown, (requirement, findings) in enumerate(target.findings_by_requirement().items()):
        if shown == _SHOWN_FINDINGS:
            yield f"More findings, from {code_span(requirement)} on, are in `report.html`."
            yield ""
            return
        yield from _finding(findings[0], expected=requirement in target.expected_failures)
        if len(findings) > 1:
            yield f"And {len(findings) - 1:,} more for {code_span(requirement)}, all in `report.html`."
            yield ""


def _finding(finding: Finding, expected: bool) -> Iterator[str]:
    yield f"#### {finding.verdict}: {code_span(finding.requirement)} ({escaped(finding.level)})"
    yield ""
    yield escaped(finding.message, LONG) + (" This failure is expected by the baseline." if expected else "")
    yield ""
    yield from code_block([*opened_with(finding), *step_lines(finding)])
    yield ""
    yield f"- expected: {code_span(finding.expected, LONG)}"
    yield f"- actual: {code_span(finding.actual, LONG)}"
    yield f"- section: {escaped(finding.section, LONG)}"
    if finding.replay_command is not None:
        yield f"- replay: {code_span(finding.replay_command)}"
    yield ""
    if finding.curl:
        yield "<details><summary>The same requests with curl</summary>"
        yield ""
        yield from code_block(finding.curl[:_SHOWN_COMMANDS])
        yield ""
        yield "</details>"
        yield ""


def _bullets(items: Iterable[str]) -> Iterator[str]:
    lines = [f"- {item}" for item in items]
    if lines:
        yield from lines
        yield ""


def escaped(text: str, limit: int | None = None) -> str:
    """``text`` as running text, without any effect of its own."""
    shown = visible(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = re.sub(r"([\\`*_\[\]|~$@#])", r"\\\1", shown)
    # Addresses become links without any markup, mentions and issue numbers even after rendering.
    shown = re.sub(
        r"(://|www\.)", lambda match: match[0].replace("/", r"\/").replace(".", r"\."), shown, flags=re.IGNORECASE
    )
    shown = re.sub(r"\\([@#])", r"\\\1<!-- -->", shown)
    # At the start of a line these open a list or underline a heading.
    return re.sub(r"^( *\d*)([-+.)](?= |$)|[-=](?=[-= ]*$))", r"\1\\\2", shown)


def code_span(text: str, limit: int | None = None) -> str:
    """``text`` as a code span, with a fence longer than any run of backticks in it."""
    shown = visible(text, limit)
    if not shown.strip(" "):
        return "(empty)" if not shown else f"({len(shown)} blanks)"
    fence = "`" * (_longest_run(shown) + 1)
    padding = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def code_block(lines: Iterable[str]) -> list[str]:
    """A fenced block with ``lines``, which it shows as they are."""
    shown = [visible(line) for line in lines]
    fence = "`" * max(3, max(map(_longest_run, shown), default=0) + 1)
    return [f"{fence}text", *shown, fence]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
