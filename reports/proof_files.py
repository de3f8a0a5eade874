"""Names and places of the two files that prove a finding: its replay file and its pytest file."""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from mcptasks.conformance.events import Finding, TargetInfo
from mcptasks.reports.json_text import json_text
from mcptasks.reports.pytest_file import can_be_pytest, pytest_source
from mcptasks.reports.replay_file import replay_text
from mcptasks.reports.run_report import RunReport
from mcptasks.reports.text_file import write_text

__all__ = ["PROOF_PATH", "locate", "slug_of", "write_all_proofs", "write_proofs"]

PROOF_PATH: Final = re.compile(r"replays/[a-z0-9_]+\.json|failures/test_[a-z0-9_]+\.py")
"""What the path of every proof file looks like, relative to the report directory."""

_SLUG_LENGTH: Final = 80


def slug_of(finding: Finding, target: TargetInfo) -> str:
    """A file name for the finding: lower-case ASCII letters, digits and underscores.

    It is the same in every run; two targets, or two fingerprints, never share one.
    """
    readable = re.sub(r"[^a-z0-9]+", "_", finding.fingerprint.lower())[:_SLUG_LENGTH].strip("_")
    identity = json_text([asdict(target), finding.fingerprint])
    return f"{readable or 'finding'}_{hashlib.sha256(identity.encode('ascii')).hexdigest()[:8]}"


def locate(finding: Finding, target: TargetInfo, directory: Path) -> Finding:
    """The finding with the paths of its files and the command that replays it.

    ``directory`` is the report directory as the user named it, so that the command can be pasted.
    """
    slug = slug_of(finding, target)
    replay = f"replays/{slug}.json"
    return replace(
        finding,
        replay=replay,
        pytest_file=f"failures/test_{slug}.py" if can_be_pytest(target) else None,
        replay_command=finding.replay_command or f"mcptasks replay {shlex.quote(str(directory / replay))}",
    )


def write_proofs(finding: Finding, target: TargetInfo, seed: int, directory: Path) -> None:
    """Write the files that :func:`locate` has named.

    Raises:
        ReportError: a file cannot be written.
    """
    if finding.replay is not None:
        write_text(directory / finding.replay, replay_text(finding, target, seed))
    if finding.pytest_file is not None:
        write_text(directory / finding.pytest_file, pytest_source(finding, target))


def write_all_proofs(report: RunReport, directory: Path, only_missing: bool = False) -> None:
    """Write the files of all findings of a run, or those that are not there.

    Raises:
        ReportError: a file cannot be written.
    """
    for target in report.targets:
        for finding in target.findings:
            located = locate(finding, target.target, directory)
            paths = [directory / path for path in (located.replay, located.pytest_file) if path is not None]
            if not only_missing or not all(path.exists() for path in paths):
                write_proofs(located, target.target, report.header.seed, directory)
