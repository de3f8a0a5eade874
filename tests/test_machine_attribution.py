"""The state machine blames the operation that did it, not the one after which it was first read."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mcptasks.conformance import TaskStoreMachine2025
from mcptasks.conformance.engine.machine_base import failure_of
from mcptasks.fixtures.gallery import fault

pytest_plugins = ["pytester"]

SOURCE = """
from mcptasks.conformance import TaskStoreConformance
from mcptasks.fixtures.gallery.terminal import CompleteOverwritesCancelled

class TestStore(TaskStoreConformance):
    budget = "2k"

    def open_store(self, clock=None, default_ttl_ms=None):
        return CompleteOverwritesCancelled(clock=clock, default_ttl_ms=default_ttl_ms)
"""


def test_one_fault_has_one_name(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=SOURCE)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "test_state_machine")
    result.assert_outcomes(failed=1)
    told = [line for line in result.outlines if line.startswith("id:")]
    # Hypothesis may tell a failure twice, when it replays it.
    assert set(told) == {"id:       store.completed.terminal-noop/complete/cancelled/status"}


def test_the_machine_of_the_other_revision_finds_by_name() -> None:
    class Machine(TaskStoreMachine2025):
        def open_store(self) -> object:
            return fault("store25-cancel-after-completed").open_store()

    quick = settings(max_examples=200, database=None, deadline=None, phases=(Phase.generate,), derandomize=True)
    with pytest.raises(failure_of("store25.status.terminal")):
        run_state_machine_as_test(Machine, settings=quick)
