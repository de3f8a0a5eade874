"""A finding as a pytest file: the reader owns it, runs it, and keeps it as a regression test."""

from __future__ import annotations

import re

from mcptasks.conformance.events import Finding, TargetInfo
from mcptasks.reports.finding_text import opened_with
from mcptasks.reports.json_text import json_text
from mcptasks.reports.safe_text import LONG, visible
from mcptasks.reports.sequence_text import steps
from mcptasks.strategies.json_values import JSON

__all__ = ["can_be_pytest", "pytest_source"]

_COMMENTED_STEPS = 60


def can_be_pytest(target: TargetInfo) -> bool:
    """Whether the target can be opened again from Python: a store that the user named."""
    return target.kind in ("store", "bridge") and isinstance(target.options.get(target.kind), str)


def pytest_source(finding: Finding, target: TargetInfo) -> str:
    """The source of a pytest file that fails as long as the target shows ``finding``.

    Every value of the target stands in it as a string literal of ASCII JSON, every text as a comment
    of one line, so that it is valid Python whatever they hold.
    """
    arguments = {
        target.kind: _literal(target.options.get(target.kind)),
        "operations": "OPERATIONS",
        "store_options": _parsed(finding.store_options),
        "adapter": _literal(target.options.get("adapter")),
        "store_args": _parsed(target.options.get("store_args", {})),
        "requirement": _literal(finding.requirement),
    }
    return "\n".join(
        [
            '"""A deviation that mcp-tasks-conformance has found, as a test.',
            "",
            "Run it with pytest in the directory in which mcptasks ran; it passes once the target behaves.",
            '"""',
            "",
            "import json",
            "",
            "from mcptasks.conformance import check_sequence",
            "",
            *_comment(finding),
            "OPERATIONS = [",
            *(f"    {_parsed(operation)}," for operation in finding.operations),
            "]",
            "",
            "",
            f"def test_{re.sub(r'[^a-z0-9]+', '_', finding.requirement.lower()).strip('_') or 'finding'}():",
            "    findings = check_sequence(",
            *(f"        {name}={value}," for name, value in arguments.items()),
            "    )",
            '    assert not findings, "\\n".join(',
            '        f"{found.requirement}: {found.message}\\n  expected: {found.expected}\\n  actual:   {found.actual}"',
            "        for found in findings",
            "    )",
            "",
        ]
    )


def _comment(finding: Finding) -> list[str]:
    lines = [
        f"{finding.requirement} ({finding.level}): {visible(finding.message, LONG)}",
        "",
        *opened_with(finding),
        *(
            f"  {'' if step.number is None else step.number:>3}  {step.text}"
            for step in steps(finding.operations, _COMMENTED_STEPS)
        ),
        "",
        f"expected: {visible(finding.expected, LONG)}",
        f"actual:   {visible(finding.actual, LONG)}",
        f"see:      {visible(finding.section, LONG)}",
        f"shown {finding.confirmed}",
    ]
    return [f"# {visible(line)}".rstrip() for line in lines]


def _parsed(value: JSON) -> str:
    return "{}" if value == {} else f"json.loads({json_text(value)!r})"


def _literal(value: JSON) -> str:
    return repr(value) if value is None else ascii(str(value))
