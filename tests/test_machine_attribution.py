"""The state machine blames the operation that did it, not the one after which it was first read."""

from __future__ import annotations

import pytest

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
