"""Checking a server from Python.

Example::

    from mcptasks.conformance import check_server

    report = check_server("http://127.0.0.1:8000/mcp")
    assert report.conformant, report
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from mcptasks.conformance.api import StoreReport, reported
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.outcomes import JudgementOptions
from mcptasks.conformance.runner.account import RunOptions
from mcptasks.conformance.runner.options import read_options
from mcptasks.conformance.runner.run import Target, run_targets
from mcptasks.conformance.wire.mapping import profile_named
from mcptasks.conformance.wire.secrets import HeaderLine
from mcptasks.conformance.wire.spec import DEFAULT_REQUESTS, REVISIONS, ProfileName, RevisionName, ServerSpec

__all__ = ["check_server", "check_server_under"]


def check_server(
    url: str = "",
    *,
    headers: Mapping[str, str] | None = None,
    other_headers: Mapping[str, str] | None = None,
    peer_url: str = "",
    start: str | None = None,
    command: str | None = None,
    restart_command: str | None = None,
    revision: RevisionName = "auto",
    profile: ProfileName | str | os.PathLike[str] | None = None,
    budget: str | int = DEFAULT_REQUESTS,
    max_requests: int | None = None,
    rate: float | None = None,
    seed: int = 0,
    select: str | Sequence[str] = "*",
    level: str = "may",
    baseline: str | os.PathLike[str] | None = None,
    report_dir: str | os.PathLike[str] | None = None,
    timeout: float = 5.0,
    settle: float | None = None,
    strict: bool = False,
    fail_on: Literal["fail", "warn"] = "fail",
    fail_fast: bool = False,
) -> StoreReport:
    """Check a server of either revision over Streamable HTTP, or of 2026-07-28 over stdio.

    Args:
        url: its endpoint; may be left out with ``start``, whose output then names it.
        headers: sent with every request; ``env:NAME`` in a value stands for an environment variable.
        other_headers: those of a second caller, who must not get at the first one's tasks.
        peer_url: endpoint of a second replica of the same deployment, where its tasks must be found too.
        start: command that starts the server first; it is ended afterwards.
        command: command that starts a server over stdio; instead of a URL.
        restart_command: command that kills the server hard, starts it on the same data, and returns when it is up.
        revision: of the protocol; by default the latest that the server speaks.
        profile: which tools to drive it with: ``control``, ``official``, or a mapping file (``.toml``) that
            says what its own do; by default the richest it offers.
        budget: requests of sequences to make (``1800``) or wall time (``"8s"``, ``"2m"``).
        max_requests: send at most so many, whatever the budget says.
        rate: send at most so many a second.
        seed: equal seeds give equal verdicts, unless the budget is a time.
        select: one or several globs over requirement ids.
        level: ``must``, ``should`` or ``may``: the weakest requirements to check.
        baseline: file that says which failures are expected.
        report_dir: where to write the report files; by default nowhere.
        timeout: seconds that an answer may take.
        settle: seconds until an effect must show; by default the contract's, by profile and poll interval.
        strict: ask that every selected MUST is exercised.
        fail_on: ``warn`` makes a warning count like a failure.
        fail_fast: stop at the first finding that counts.

    Returns:
        The report.  A server that cannot be used gives the outcome ``unusable``, one without tasks
        ``inconclusive``.

    Raises:
        UsageError: an argument is wrong.
    """
    if fail_on not in ("fail", "warn"):
        raise UsageError(f"fail_on must be 'fail' or 'warn', not {fail_on!r}")
    options = read_options(
        budget=budget,
        seed=seed,
        select=(select,) if isinstance(select, str) else tuple(select),
        level=level,
        baseline=None if baseline is None else Path(baseline),
        timeout=timeout,
        settle=2.0 if settle is None else settle,
        judgement=JudgementOptions(strict=strict, fail_on_warn=fail_on == "warn"),
        fail_fast=fail_fast,
        kind="server",
        revisions=REVISIONS if revision == "auto" else (revision,),
    )
    lines, others = (
        tuple(HeaderLine.parse(f"{name}: {value}") for name, value in (given or {}).items())
        for given in (headers, other_headers)
    )
    name, mapping = profile_named(None if profile is None else os.fspath(profile))
    spec = ServerSpec(
        url,
        lines,
        others,
        peer_url=peer_url,
        start=start,
        command=command,
        restart_command=restart_command,
        profile=name,
        mapping=mapping,
        max_requests=max_requests,
        rate=rate,
        settle=settle,
        revision=revision,
    )
    return check_server_under(spec, options, None if report_dir is None else Path(report_dir))


def check_server_under(spec: ServerSpec, options: RunOptions, report_dir: Path | None = None) -> StoreReport:
    """Check a server under options that were read already.

    Raises:
        UsageError: something about how it is named is wrong.
    """
    return reported(lambda handler: run_targets([Target(spec)], options, handler), report_dir)
