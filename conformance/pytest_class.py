"""The class to subclass in a test module: every requirement is a test of its own.

Example::

    from mcptasks.conformance import TaskStoreConformance

    class TestMyStore(TaskStoreConformance):
        def open_store(self, clock=None, default_ttl_ms=None):
            return MyStore(clock=clock, default_ttl_ms=default_ttl_ms)
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, cast

import pytest

from mcptasks.conformance.errors import ConformanceError
from mcptasks.conformance.events import Finding, RequirementResult
from mcptasks.conformance.pytest_options import ClassOptions, options_of
from mcptasks.reports.run_report import TargetReport

if TYPE_CHECKING:
    from mcptasks.conformance.wire.spec import ProfileName, RevisionName

__all__ = ["ConformanceWarning", "TaskServerConformance", "TaskStoreConformance", "requirement_ids"]

_SHOWN: Final = 3
"""Findings of one requirement that its failure shows in full."""


class ConformanceWarning(UserWarning):
    """A store breaks a requirement of which the catalogue only warns."""


class Unusable(Exception):
    """There is no report to judge by; the message says why."""


class _Conformance:
    """What tests of stores and of servers have in common."""

    mcptasks_kind: ClassVar[str]
    """How the plugin knows the class."""

    budget: ClassVar[str | int | None] = None
    """Calls (``"200k"``) or wall time (``"8s"``)."""
    seed: ClassVar[int | None] = None
    level: ClassVar[str | None] = None
    """``must``, ``should`` or ``may``: the weakest requirements to check."""
    select: ClassVar[str | tuple[str, ...] | None] = None
    """Globs over requirement ids."""
    baseline: ClassVar[str | os.PathLike[str] | None] = None
    """File of expected failures, relative to the directory in which pytest was started."""
    report_dir: ClassVar[str | os.PathLike[str] | None] = None
    timeout: ClassVar[float | None] = None
    """Seconds after which a call counts as never ending."""
    settle: ClassVar[float | None] = None
    """Seconds to wait for events that are due."""
    fail_on: ClassVar[str | None] = None
    """``warn``: a warning fails the test."""

    def test_requirement(self, requirement: str, pytestconfig: pytest.Config) -> None:
        """One requirement, judged by a run over generated sequences that all of these tests share."""
        report, options = self._report(pytestconfig)
        result = next(item for item in report.requirements if item.id == requirement)
        _conclude(result, report, options)

    def _report(self, config: pytest.Config) -> tuple[TargetReport, ClassOptions]:
        """The report of the class, made once in each process."""
        made = config.stash.setdefault(_REPORTS, {})
        cls = type(self)
        if cls not in made:
            made[cls] = self._checked(config)
            if isinstance(made[cls], Unusable):
                pytest.fail(str(made[cls]), pytrace=False)
        found = made[cls]
        if isinstance(found, Unusable):
            pytest.skip(f"see the first test of {cls.__qualname__}: {found}")
        return found

    def _checked(self, config: pytest.Config) -> tuple[TargetReport, ClassOptions] | Unusable:
        cls = type(self)
        try:
            options = options_of(cls, config)
            name = f"{cls.__module__}:{cls.__qualname__}"
            folder = None
            if options.report_dir is not None:
                worker = os.environ.get("PYTEST_XDIST_WORKER", "")  # each has a run of its own
                slug = re.sub(r"[^A-Za-z0-9_.-]+", ".", name)
                folder = options.report_dir / (f"{slug}-{worker}" if worker else slug)
            report = self._run(name, options, folder)
        except ConformanceError as error:
            return Unusable(str(error))
        if report.outcome in ("unusable", "error"):
            return Unusable(report.reason)
        return report, options

    def _run(self, name: str, options: ClassOptions, folder: Path | None) -> TargetReport:
        raise NotImplementedError


class TaskStoreConformance(_Conformance):
    """Tests of a task store; subclass it as ``Test…`` and define :meth:`open_store` or :attr:`bridge`.

    The attributes below stand in for the pytest options of the same name, which go before them.
    """

    mcptasks_kind = "store"
    revision: ClassVar[str] = "2026-07-28"
    """Of the store protocol; the other one is ``2025-11-25``."""
    profile: ClassVar[str | None] = None
    """Hypothesis profile of the state machine: ``mcptasks-ci`` or ``mcptasks-long``."""
    adapter: ClassVar[str | None] = None
    """Adapter to see the store through."""
    bridge: ClassVar[str | None] = None
    """Command that starts a store in any language; instead of :meth:`open_store`."""

    def open_store(self, *arguments: Any, **keywords: Any) -> Any:
        """Open a fresh store: the one hook.

        Name any of the factory keywords ``clock`` and ``default_ttl_ms`` (2025-11-25: ``clock``, ``default_ttl``,
        ``page_size``) as parameters to have expiry tested without waiting, and lists walked in small pages.  It may be async, or give a (sync or async) context manager.
        """
        raise NotImplementedError(f"{type(self).__name__} must define open_store()")

    def test_state_machine(self, pytestconfig: pytest.Config) -> None:
        """The Hypothesis state machine: other sequences, shrunk by Hypothesis."""
        from mcptasks.conformance.pytest_machine import run_machine

        _, options = self._report(pytestconfig)
        if self.bridge is not None:
            pytest.skip("over a bridge the state machine is a part of the run")
        run_machine(self.open_store, type(self).__qualname__, options, self.revision)

    def _run(self, name: str, options: ClassOptions, folder: Path | None) -> TargetReport:
        from mcptasks.conformance.api import check_bridge_under, check_here

        if self.bridge is not None:
            return check_bridge_under(self.bridge, options.run, folder, self.revision).target
        return check_here(self.open_store, name, options.run, folder, options.adapter, self.revision).target


class TaskServerConformance(_Conformance):
    """Tests of a server; subclass it as ``Test…`` and define :attr:`url`, :attr:`start`
    or :attr:`command`.

    The attributes above stand in for the pytest options of the same name, which go before them; ``budget``
    counts requests, 1800 by default.
    """

    mcptasks_kind = "server"

    revision: ClassVar[RevisionName] = "2026-07-28"
    """Of the protocol: which requirements are tested."""
    url: ClassVar[str] = ""
    """Its endpoint; may also be a property, such as one that starts a server."""
    start: ClassVar[str | None] = None
    """Command that starts it first; without :attr:`url` it prints its URL."""
    command: ClassVar[str | None] = None
    """Command that starts a server over stdio; instead of :attr:`url`."""
    restart_command: ClassVar[str | None] = None
    """Command that kills it hard, starts it on the same data, and returns when it is up."""
    headers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Sent with every request; ``env:NAME`` in a value stands for an environment variable."""
    other_headers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Those of a second caller, who must not get at the first one's tasks."""
    tools: ClassVar[ProfileName | None] = None
    """Which tools to drive it with: ``control`` or ``official``."""
    max_requests: ClassVar[int | None] = None
    rate: ClassVar[float | None] = None
    """Requests per second at most."""

    def _run(self, name: str, options: ClassOptions, folder: Path | None) -> TargetReport:
        from mcptasks.conformance.server_api import check_server_under
        from mcptasks.conformance.wire.secrets import HeaderLine
        from mcptasks.conformance.wire.spec import ServerSpec

        lines, others = (
            tuple(HeaderLine.parse(f"{header}: {value}") for header, value in given.items())
            for given in (self.headers, self.other_headers)
        )
        spec = ServerSpec(
            self.url,
            lines,
            others,
            start=self.start,
            command=self.command,
            restart_command=self.restart_command,
            profile=self.tools,
            max_requests=self.max_requests,
            rate=self.rate,
            settle=self.settle,
            revision=self.revision,
        )
        return check_server_under(spec, options.run, folder).target


_REPORTS: Final = pytest.StashKey[dict[type, tuple[TargetReport, ClassOptions] | Unusable]]()


def requirement_ids(cls: type, config: pytest.Config) -> list[str]:
    """The requirements that tests of ``cls`` are about.

    Raises:
        UsageError: an option is wrong.
    """
    from mcptasks.conformance.runner.account import selected

    kind = cast("Literal['store', 'server']", getattr(cls, "mcptasks_kind", "store"))
    revision = getattr(cls, "revision", "2026-07-28")
    return [item.id for item in selected(options_of(cls, config).run, kind, revision)]


def _conclude(result: RequirementResult, report: TargetReport, options: ClassOptions) -> None:
    problem = next((text for text in report.baseline_problems if text.startswith(f"{result.id}: ")), None)
    if problem is not None:
        pytest.fail(f"baseline: {problem}", pytrace=False)
    if result.id in report.expected_failures:
        entries = options.run.baseline.entries if options.run.baseline is not None else {}
        pytest.xfail(f"expected by the baseline: {entries[result.id].reason}")
    if result.verdict == "fail" or (result.verdict == "warn" and options.fail_on_warn):
        pytest.fail(_text(report.findings_by_requirement().get(result.id, []), result), pytrace=False)
    elif result.verdict == "warn":
        # Where it was raised says nothing: it is about the store.
        warnings.warn(
            ConformanceWarning(_text(report.findings_by_requirement().get(result.id, []), result)), stacklevel=1
        )
    elif result.verdict in ("not_exercised", "not_applicable"):
        pytest.skip(f"{result.verdict.replace('_', ' ')}: {result.reason}")
    elif result.verdict == "error":
        pytest.fail(f"a fault of the suite itself: {result.reason}", pytrace=False)


def _text(findings: list[Finding], result: RequirementResult) -> str:
    from mcptasks.reports.finding_text import explanation

    if not findings:
        return f"{result.id} ({result.level}): {result.reason}"
    more = [f"and {len(findings) - _SHOWN} more"] if len(findings) > _SHOWN else []
    return "\n\n".join([*(explanation(finding) for finding in findings[:_SHOWN]), *more])
