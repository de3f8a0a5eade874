"""A finding explained in plain lines, for formats that show preformatted text."""

from __future__ import annotations

from mcptasks.conformance.events import Finding
from mcptasks.reports.safe_text import LONG, visible
from mcptasks.reports.sequence_text import Step, steps
from mcptasks.strategies.json_values import text_of

__all__ = ["SHOWN_STEPS", "explanation", "opened_with", "step_lines", "times"]

SHOWN_STEPS = 40
"""Operations of one sequence that a report meant for reading shows."""


def times(count: int) -> str:
    """``once``, or ``12 times``."""
    return "once" if count == 1 else f"{count:,} times"


def _step_line(step: Step) -> str:
    return f"{'' if step.number is None else step.number:>3}  {step.text}"


def step_lines(finding: Finding, most: int = SHOWN_STEPS) -> list[str]:
    """The sequence of ``finding``, numbered; of more than ``most`` operations the middle is left out."""
    return [_step_line(step) for step in steps(finding.operations, most)]


def opened_with(finding: Finding) -> list[str]:
    """One line that names the factory keywords of the store that showed ``finding``; none if it had none.

    ``store opened with clock and default_ttl_ms=1000``: the sequence alone would not show it again.
    """
    told = [
        visible(name if value is True else f"{name}={text_of(value, 200)}")
        for name, value in finding.store_options.items()
    ]
    return [f"store opened with {' and '.join(told)}"] if told else []


def explanation(finding: Finding) -> str:
    """Message, sequence, expected, actual, section and replay command, on several lines, all made visible."""
    lines = [
        f"{visible(finding.requirement)} ({visible(finding.level)}): {visible(finding.message, LONG)}",
        "",
        *opened_with(finding),
        *step_lines(finding),
        "",
        f"expected: {visible(finding.expected, LONG)}",
        f"actual:   {visible(finding.actual, LONG)}",
        f"see:      {visible(finding.section, LONG)}",
        f"shown:    {visible(finding.confirmed)}, {times(finding.occurrences)}",
        f"id:       {visible(finding.fingerprint)}",
    ]
    if finding.replay_command is not None:
        lines.append(f"replay:   {visible(finding.replay_command)}")
    if finding.curl:
        lines += ["", *(visible(command, LONG) for command in finding.curl[:SHOWN_STEPS])]
    return "\n".join(lines)
