"""The Hypothesis state machine as one test of a ``TaskStoreConformance`` class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from mcptasks.conformance.adapters import Adapter
from mcptasks.conformance.api import source_here
from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.machine import TaskStoreMachine
from mcptasks.conformance.engine.machine_2025 import TaskStoreMachine2025
from mcptasks.conformance.engine.machine_base import ConformanceFailure, StoreMachine, failure_of
from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.events import Finding
from mcptasks.conformance.profiles import profile, storage_apart
from mcptasks.conformance.pytest_options import ClassOptions
from mcptasks.conformance.runner.account import selected
from mcptasks.conformance.runner.in_process import apart_from_running_loop, own_loop
from mcptasks.conformance.targets.loading import probe
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.reports.finding_text import explanation
from mcptasks.strategies.operations import Operation, sequence_to_json

__all__ = ["run_machine"]


def run_machine(open_store: Callable[..., Any], name: str, options: ClassOptions, revision: str) -> None:
    """Run the state machine on stores that ``open_store`` opens; a breach fails the test.

    Args:
        open_store: a factory.
        name: how messages call the store.
        options: of the test class; what its baseline expects does not fail.
        revision: of the store protocol.
    """
    source, adapter = source_here(open_store, name, None, options.adapter, revision)
    judged = frozenset(item.id for item in selected(options.run, revision=revision))
    today = datetime.now(UTC).date()
    features = _features(source, adapter)

    def excused(breach: Breach) -> bool:
        if adapter is not None and adapter.reason_not_applicable(breach.requirement) is not None:
            return True
        entry = options.run.baseline.entries.get(breach.requirement) if options.run.baseline is not None else None
        if entry is None or (entry.expires is not None and entry.expires < today):
            return False
        return entry.fingerprints is None or breach.fingerprint in entry.fingerprints

    shown: dict[type[ConformanceFailure], str] = {}

    of_revision: type[StoreMachine] = TaskStoreMachine2025 if revision == "2025-11-25" else TaskStoreMachine

    class StateMachine(of_revision):  # type: ignore[valid-type, misc]  # which one is known only now
        settle = options.run.settings.settle
        timeout = options.run.settings.timeout
        warnings_fail = options.fail_on_warn

        def _store_source(self) -> StoreSource:
            return source

        def _features(self) -> Features:
            return features

        def _judged(self, breach: Breach) -> None:
            self.ended = True
            if breach.requirement in judged and not excused(breach):
                # Hypothesis runs the shortest example last.
                shown[failure_of(breach.requirement)] = _explained(breach, self.operations, self.options)
                super()._judged(breach)

    settings = profile(options.profile)
    machine = StateMachine if settings.derandomize else seed(options.run.settings.seed)(StateMachine)
    with storage_apart():
        failed = _failures(lambda: run_state_machine_as_test(machine, settings=settings))
    if failed:
        pytest.fail("\n\n".join(shown[kind] for kind in failed), pytrace=False)


def _features(source: StoreSource, adapter: Adapter | None) -> Features:
    if source.revision == "2025-11-25":
        # What it offers is in its optional methods: one is opened to see.
        def opened() -> Features:
            with own_loop() as loop:
                return loop.run_until_complete(probe(source, adapter)).features

        return apart_from_running_loop(opened)
    return Features(
        clock="clock" in source.accepts,
        ttl="default_ttl_ms" in source.accepts,
        input_requests="set_input_requests" not in source.exempt,
        well_formed=adapter is not None and adapter.payloads != "any",
    )


def _failures(run: Callable[[], None]) -> list[type[ConformanceFailure]]:
    """The kinds of failure that a run of the machine ended with, each once."""
    try:
        run()
    except ConformanceFailure as failure:
        return [type(failure)]
    except BaseExceptionGroup as group:
        broken, others = group.split(ConformanceFailure)
        if broken is None or others is not None:
            raise
        return list(dict.fromkeys(_kinds(broken)))
    return []


def _kinds(group: BaseExceptionGroup[ConformanceFailure]) -> Iterator[type[ConformanceFailure]]:
    for item in group.exceptions:
        if isinstance(item, ConformanceFailure):
            yield type(item)
        else:
            yield from _kinds(item)


def _explained(breach: Breach, operations: Sequence[Operation], options: StoreOptions) -> str:
    requirement = load_catalogue()[breach.requirement]
    return explanation(
        Finding(
            requirement=breach.requirement,
            verdict="fail" if requirement.verdict == "fail" and not breach.warning else "warn",
            level=requirement.level,
            message=breach.message,
            operations=sequence_to_json(operations),
            expected=breach.expected,
            actual=breach.actual,
            section=requirement.section,
            fingerprint=breach.fingerprint,
            operation=breach.operation,
            state=breach.state,
            aspect=breach.aspect,
            driver="hypothesis",
            store_options=options.to_json(),
        )
    )
