"""Checking a store from Python: a whole run, or one sequence.

Example::

    from mcptasks.conformance import check_store

    report = check_store("shop.tasks:RedisStore", budget="50k")
    assert report.conformant, report
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from mcptasks.conformance.adapters import Adapter, AdapterError, find_adapter
from mcptasks.conformance.engine.expand import is_2025
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.events import Event, Finding, Outcome, RequirementResult, TargetInfo
from mcptasks.conformance.outcomes import ExitCode, JudgementOptions
from mcptasks.conformance.runner.account import RunOptions
from mcptasks.conformance.runner.environment import child_environment
from mcptasks.conformance.runner.in_process import run_here
from mcptasks.conformance.runner.job import StoreSpec
from mcptasks.conformance.runner.options import read_options
from mcptasks.conformance.runner.replaying import replay_here, replay_in_child
from mcptasks.conformance.runner.run import Target, run_targets
from mcptasks.conformance.targets.loading import load_source
from mcptasks.conformance.targets.protocols import PROTOCOLS
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.reports.assemble import Assembler
from mcptasks.reports.console_summary import summary_lines
from mcptasks.reports.run_report import RunReport, TargetReport
from mcptasks.reports.safe_text import visible
from mcptasks.reports.write import ReportWriter
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Operation, OperationError, sequence_from_json, sequence_to_json

__all__ = ["StoreReport", "check_here", "check_sequence", "check_store", "source_here"]

Store = str | Callable[..., Any] | object
"""``module:attr``, ``path/file.py:attr``, a class, a factory, or an open store."""

_TIMEOUT: Final = 5.0
_SETTLE: Final = 2.0


@dataclass(frozen=True, slots=True)
class StoreReport:
    """What a check of one store has shown; ``str()`` is the summary that the command line prints."""

    run: RunReport
    """The whole, as report files are made of it."""
    exit_code: ExitCode

    @property
    def target(self) -> TargetReport:
        """All that was learned about the store."""
        return self.run.targets[0]

    @property
    def outcome(self) -> Outcome:
        """``conformant``, ``nonconformant``, ``inconclusive``, ``unusable``, ``error`` or ``interrupted``."""
        return self.target.outcome

    @property
    def conformant(self) -> bool:
        """Whether something was exercised and nothing failed that the baseline does not expect."""
        return self.outcome == "conformant"

    @property
    def reason(self) -> str:
        """The outcome explained in one sentence."""
        return self.target.reason

    @property
    def requirements(self) -> tuple[RequirementResult, ...]:
        """One verdict for each selected requirement, in the catalogue's order."""
        return self.target.requirements

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each distinct deviation, with the shortest sequence that shows it."""
        return self.target.findings

    def __str__(self) -> str:
        lines = ["".join(part for part, _ in line) for line in summary_lines(self.run, None)]
        return "\n".join(visible(line) for line in lines).strip("\n")


def check_store(
    store: Store | None = None,
    *,
    bridge: str | None = None,
    arguments: Mapping[str, JSON] | None = None,
    adapter: str | None = None,
    budget: str | int = "200k",
    seed: int = 0,
    select: str | Sequence[str] = "*",
    level: str = "may",
    baseline: str | os.PathLike[str] | None = None,
    report_dir: str | os.PathLike[str] | None = None,
    timeout: float = _TIMEOUT,
    settle: float = _SETTLE,
    strict: bool = False,
    fail_on: Literal["fail", "warn"] = "fail",
    fail_fast: bool = False,
    isolated: bool | None = None,
    revision: Literal["2026-07-28", "2025-11-25", "auto"] = "auto",
    guard: Literal["store", "server"] = "store",
) -> StoreReport:
    """Check a task store with generated operation sequences.

    Args:
        store: what the command line's ``--store`` names, or a class, a factory or an open store.
        bridge: instead of a store, the command that starts one in any language (``--bridge``).
        arguments: keyword arguments for the factory.
        adapter: short name or ``module:attr`` of an adapter to see it through.
        budget: calls to make (``"200k"``, ``200_000``) or wall time (``"8s"``, ``"2m"``).
        seed: equal seeds give equal verdicts, unless the budget is a time.
        select: one or several globs over requirement ids.
        level: ``must``, ``should`` or ``may``: the weakest requirements to check.
        baseline: file that says which failures are expected.
        report_dir: where to write the report files; by default nowhere.
        timeout: seconds after which a call counts as never ending.
        settle: seconds to wait for events that are due.
        strict: ask that every selected MUST is exercised.
        fail_on: ``warn`` makes a warning count like a failure.
        fail_fast: stop at the first finding that counts.
        isolated: run the store in a child process, where it can block, exit or crash and is still
            judged.  By default that is done for what a child can import: a string, or a class or
            function at the top of a module.  Anything else runs in this process.
        revision: of the store protocol; by default the store's methods tell it.
        guard: 2025-11-25: whether the store or the server above it keeps ended tasks as they are.

    Returns:
        The report.  A store that cannot be opened gives the outcome ``unusable``.

    Raises:
        UsageError: an argument is wrong, the store cannot be imported, or it is none.
    """
    options = read_options(
        budget=budget,
        seed=seed,
        select=(select,) if isinstance(select, str) else tuple(select),
        level=level,
        baseline=None if baseline is None else Path(baseline),
        timeout=timeout,
        settle=settle,
        judgement=JudgementOptions(strict=strict, fail_on_warn=_is_warn(fail_on)),
        fail_fast=fail_fast,
        revisions=tuple(PROTOCOLS) if revision == "auto" else (revision,),
    )
    directory = None if report_dir is None else Path(report_dir)
    named = _named(store, bridge, isolated, dict(arguments or {}), adapter, revision, guard)
    if named is None:
        source, found = _source(store, arguments, adapter, revision)
        source.guarded = guard == "store"
        info = TargetInfo("store", source.name, "2026-07-28")
        return reported(lambda handler: run_here(source, found, info, options, handler), directory)
    target = Target(named)
    with child_environment(sys.path):
        return reported(lambda handler: run_targets([target], options, handler), directory)


def check_here(
    factory: Callable[..., Any],
    name: str,
    options: RunOptions,
    report_dir: Path | None = None,
    adapter: str | None = None,
    revision: str = "2026-07-28",
) -> StoreReport:
    """Check the stores of a factory in this process, under options that were read already.

    Raises:
        UsageError: there is no such adapter, or what the factory makes is no store.
    """
    source, found = source_here(factory, name, None, adapter, revision)
    info = TargetInfo("store", name, source.revision)
    return reported(lambda handler: run_here(source, found, info, options, handler), report_dir)


def check_bridge_under(command: str, options: RunOptions, report_dir: Path | None, revision: str) -> StoreReport:
    """Check the stores behind a bridge under options that were read already.

    Raises:
        UsageError: the command cannot be run, or the bridge lacks a method.
    """
    target = Target(StoreSpec(command, {}, None, revision, "store", "bridge"))
    with child_environment(sys.path):
        return reported(lambda handler: run_targets([target], options, handler), report_dir)


def check_sequence(
    store: Store | None = None,
    operations: Sequence[Operation | Mapping[str, JSON]] = (),
    *,
    bridge: str | None = None,
    store_options: Mapping[str, JSON] | None = None,
    adapter: str | None = None,
    store_args: Mapping[str, JSON] | None = None,
    requirement: str | None = None,
    timeout: float = _TIMEOUT,
    settle: float = _SETTLE,
    isolated: bool | None = None,
) -> list[Finding]:
    """Run one sequence on a fresh store; what it shows, nothing if the store behaves.

    Args:
        store: as for :func:`check_store`.
        operations: operations, or their JSON form.
        bridge: as for :func:`check_store`.
        store_options: factory keywords that the sequence needs: ``{"clock": True, "default_ttl_ms": 1000}``.
        adapter: as for :func:`check_store`.
        store_args: keyword arguments for the factory.
        requirement: look for deviations from this one only.  One from another, after which the store's
            state is not known, counts too, since it keeps the sequence from coming to its end.
        timeout: seconds after which a call counts as never ending.
        settle: seconds to wait for events that are due.
        isolated: as for :func:`check_store`.

    Raises:
        UsageError: an argument is wrong, the store cannot be imported, or it is none.
        TargetUnusableError: the store cannot be opened.
    """
    try:
        given = [dict(item) if isinstance(item, Mapping) else sequence_to_json([item])[0] for item in operations]
        sequence = sequence_from_json(given)
        options = StoreOptions.from_json(store_options or {})
    except (OperationError, ValueError) as error:
        raise UsageError(f"check_sequence: {error}") from error
    settings = Settings(timeout=timeout, settle=settle)
    revision = "2025-11-25" if is_2025(sequence) else "2026-07-28"
    named = _named(store, bridge, isolated, dict(store_args or {}), adapter, revision, "store")
    if named is None:
        source, _ = _source(store, store_args, adapter, revision)
        found = replay_here(source, sequence, options, requirement=requirement, settings=settings)
    else:
        with child_environment(sys.path):
            found = replay_in_child(named, sequence, options, requirement=requirement, settings=settings)
    if requirement is None:
        return found
    return [item for item in found if item.requirement == requirement or (item is found[-1] and item.verdict == "fail")]


def _is_warn(fail_on: str) -> bool:
    if fail_on not in ("fail", "warn"):
        raise UsageError(f"fail_on must be 'fail' or 'warn', not {fail_on!r}")
    return fail_on == "warn"


def reported(run: Callable[[Callable[[Event], None]], int], directory: Path | None) -> StoreReport:
    """The report of a run, which is given a handler of events; written to ``directory`` too if there is one."""
    assembler = Assembler()
    if directory is None:
        code = run(assembler.add)
    else:
        with ReportWriter(directory, forward=assembler.add) as writer:
            code = run(writer)
    return StoreReport(assembler.report(), ExitCode(code))


# --- naming a store ------------------------------------------------------------------------


def _named(
    store: Store | None,
    bridge: str | None,
    isolated: bool | None,
    arguments: dict[str, JSON],
    adapter: str | None,
    revision: str,
    guard: Literal["store", "server"],
) -> StoreSpec | None:
    """The target as a child process is told of it; ``None`` to run the store here."""
    if bridge is None:
        spec = _spec_of(store, isolated)
        return None if spec is None else StoreSpec(spec, arguments, adapter, revision, guard)
    if store is not None or adapter is not None or arguments or isolated is False:
        raise UsageError("bridge goes without a store, its arguments, an adapter and isolated=False")
    return StoreSpec(bridge, {}, None, revision, guard, "bridge")


def _spec_of(store: Store | None, isolated: bool | None) -> str | None:
    """How a child process can import ``store``; ``None`` to run it here."""
    if store is None:
        raise UsageError("there is no store: give one, or the command of a bridge")
    if isolated is False:
        return None
    spec = store if isinstance(store, str) else _importable(store)
    if spec is None and isolated:
        raise UsageError(
            f"{_name_of(store)} cannot run in a child process: it is no class or function at the top of a module"
            " that can be imported; leave out isolated=True, or give 'module:attribute'"
        )
    return spec


def _importable(store: object) -> str | None:
    module_name, name = getattr(store, "__module__", None), getattr(store, "__qualname__", None)
    # A main module would run again in the child, and check again.
    if not isinstance(module_name, str) or not isinstance(name, str) or module_name == "__main__":
        return None
    found: object = sys.modules.get(module_name)
    if found is None or getattr(found, "__spec__", None) is None:
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module_name}:{name}" if found is store else None


def _name_of(store: object) -> str:
    kind = store if isinstance(getattr(store, "__qualname__", None), str) else type(store)
    return f"{getattr(kind, '__module__', '?')}:{getattr(kind, '__qualname__', '?')}"


def _source(
    store: Store | None, arguments: Mapping[str, JSON] | None, adapter: str | None, revision: str
) -> tuple[StoreSource, Adapter | None]:
    if isinstance(store, str):
        return load_source(store, arguments, adapter, revision)
    source, found = source_here(store, _name_of(store), arguments, adapter)
    if found is None:
        source.revision = revision
    return source, found


def source_here(
    store: object,
    name: str,
    arguments: Mapping[str, JSON] | None = None,
    adapter: str | None = None,
    revision: str = "2026-07-28",
) -> tuple[StoreSource, Adapter | None]:
    """A source for a class, factory or open store at hand, and the adapter to see it through.

    Raises:
        UsageError: there is no such adapter.
    """
    if adapter is None:
        return StoreSource(store, name, dict(arguments or {}), revision=revision), None
    try:
        found = find_adapter(adapter)
    except AdapterError as error:
        raise UsageError(str(error)) from error
    source = StoreSource(found.factory(store), name, dict(arguments or {}), found.missing_methods)
    source.revision, source.sessions = found.revision, found.sessions
    return source, found
