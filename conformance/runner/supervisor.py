"""One target from start to verdicts: starts children, follows what they learn, survives their deaths."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from mcptasks.conformance.engine.beat import Stage
from mcptasks.conformance.engine.expand import is_2025
from mcptasks.conformance.engine.plan import same_call
from mcptasks.conformance.engine.plan_2025 import plan_for
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.errors import ConformanceError
from mcptasks.conformance.events import Event, Outcome, TargetInfo
from mcptasks.conformance.outcomes import Condition
from mcptasks.conformance.runner.account import Account, RunOptions
from mcptasks.conformance.runner.child import Child
from mcptasks.conformance.runner.deaths import Death, solve, under_way
from mcptasks.conformance.runner.fault_log import write_fault_log
from mcptasks.conformance.runner.job import Job, Spec
from mcptasks.strategies.operations import sequence_to_json

__all__ = ["RunOptions", "Supervisor"]

_DEATHS: Final = 4
"""Deaths after which a target is left alone."""
_FIRST: Final = "opening the store and creating a first task"
_WORDS: Final = {Stage.IMPORTING: "importing it"}


def _revision(spec: Spec) -> str:
    """The revision that is checked, or ``auto``: then the target's process tells it."""
    return spec.revision


class Supervisor:
    """Drives one target.

    Args:
        spec: the target.
        options: the run's options.
        emit: takes events, from any thread.
        stop: set from outside to interrupt.
    """

    def __init__(
        self,
        spec: Spec,
        options: RunOptions,
        emit: Callable[[Event], None],
        stop: threading.Event,
        name: str | None = None,
    ) -> None:
        self._spec = spec
        self._options = options
        self._stop = stop
        self.name = name or spec.name
        self._account = Account(TargetInfo(spec.kind, self.name, _revision(spec), spec.options()), options, emit)
        self._avoid: set[str] = set()

    def run(self) -> Outcome:
        """Run the target to its end; the outcome, which the last event tells too."""
        self._account.begin()
        try:
            self._run()
        except ConformanceError:
            raise  # of whoever takes the events: a report that cannot be written
        except Exception as error:
            self._fault(f"{type(error).__name__}: {error}", traceback.format_exc())
        return self._account.finish()

    def _fault(self, words: str, trace: str) -> None:
        reason = f"the suite itself failed: {words}"
        self._account.note("error", f"{reason}; details are in {write_fault_log(trace)}")
        self._account.condition = Condition("error", reason)

    def _run(self) -> None:
        # The child does not know what was selected, so it cannot tell which finding is to end the run.
        settings = replace(self._options.settings, fail_fast=False)
        deaths = 0
        while True:
            job = Job("campaign", self._spec, settings)
            child = Child(job, memory_limit=self._options.memory_limit)
            try:
                done = self._follow(child)
                if done or self._stop.is_set():
                    break
                deaths += 1
                again = self._after_death(child, job, deaths)
            finally:
                child.close()
            if again is None:
                break
            settings = again

    # --- following a child -----------------------------------------------------------------

    def _follow(self, child: Child) -> bool:
        """Take what a child says until it is done (true) or dead (false)."""
        for message in child.messages():
            if self._stop.is_set():
                self._account.condition = Condition("interrupted", "interrupted")
                return True
            if message is None:
                continue
            kind = message["kind"]
            if kind == "done":
                return True
            if kind == "failed":
                self._failed(message, child)
                return True
            if kind == "left_out":
                self._avoid.update(str(name) for name in message["names"])
            self._account.take(message)
            if self._options.settings.fail_fast and self._account.has_failed:
                return True
        return False

    def _failed(self, message: Mapping[str, Any], child: Child) -> None:
        code = message.get("exit_code")
        text = str(message.get("message"))
        if code == 5:
            self._fault(text, str(message.get("traceback", text)))
        else:
            self._account.condition = Condition("inconclusive" if code == 4 else "unusable", text)
        self._usage = code == 2
        if child.output.strip():
            self._account.note("info", f"the target printed: {child.output[-1500:]}")

    _usage = False

    @property
    def usage_error(self) -> str | None:
        """What was wrong with how the target was named, if that ended the run."""
        return self._account.condition.reason if self._usage and self._account.condition else None

    # --- deaths ----------------------------------------------------------------------------

    def _after_death(self, child: Child, job: Job, deaths: int) -> Settings | None:
        """What to go on with after a child died, or ``None`` to stop."""
        account = self._account
        ended = child.ended
        assert ended is not None
        if child.output.strip():
            self._account.note("info", f"before it died the target printed: {child.output[-1500:]}")
        if job.spec.kind == "server":
            # The server runs elsewhere: what died is the suite's own client of it.
            account.condition = Condition("error", f"the suite's process for this server ended: {ended.words}")
            return None
        position = child.position
        if not account.learned.offered:
            account.condition = Condition("unusable", f"{_WORDS.get(position.stage, _FIRST)}: {ended.words}")
            return None
        if position.stage == Stage.OPENING:
            account.condition = Condition("unusable", f"opening a further store: {ended.words}")
            return None
        plan = plan_for(job.settings.seed, account.features, job.settings.avoid)
        running = under_way(position, plan, self._avoid)
        death: Death | None = None
        if running is not None and position.stage == Stage.RUNNING:
            death = solve(job, running, ended, self._options.memory_limit, self._stop)
        if self._stop.is_set():
            account.condition = Condition("interrupted", "interrupted")
            return None
        resume = (position.phase, position.sequence + 1)
        if position.stage == Stage.CLOSING:
            self._avoid.add("close")
            self._account.note("warning", f"closing a store: {ended.words}; the rest of the run closes none")
        elif death is not None:
            if death.operation in ("create", "create_task") and not account.findings and not account.learned.operations:
                account.condition = Condition("unusable", f"creating a first task: {death.ended.words}")
                return None
            self._report_death(death)
            if death.operation in ("create", "get", "create_task", "get_task"):
                self._account.note("warning", f"the run stops here: {death.operation}: {death.ended.words}")
                return None
            self._avoid |= (
                {death.operation, "subscribe", "on_status"}
                if death.operation == "unsubscribe"
                else same_call(death.operation)
            )
            self._account.note("warning", f"the rest of the run goes without {death.operation}: {death.ended.words}")
            resume = (position.phase, 0)
        elif account.suspect is not None and position.investigating:
            self._account.note(
                "warning",
                f"the target died while a deviation was being shrunk; it is reported as first seen ({ended.words})",
            )
            account.found(
                {
                    "driver": "random",
                    "confirmed": "seen once; the target died while it was confirmed",
                    **account.suspect,
                }
            )
        elif deaths > 1 or running is None:
            account.condition = Condition("unusable", f"it died and a fresh process does not show why: {ended.words}")
            return None
        else:
            self._account.note("warning", f"the target died once and not again with the same calls ({ended.words})")
        account.suspect = None
        if deaths >= _DEATHS:
            self._account.note("warning", f"the target died {deaths} times; the run stops here")
            return None
        account.before = replace(account.learned)
        return replace(
            job.settings,
            avoid=frozenset(self._avoid),
            known=frozenset(account.findings) | job.settings.known,
            resume=resume,
            spent_calls=position.calls,
            spent_seconds=account.seconds,
        )

    def _report_death(self, death: Death) -> None:
        name = death.operation
        requirement = "store25.misc.call-ends" if is_2025(death.operations) else "store.misc.call-ends"
        self._account.found(
            {
                "requirement": requirement,
                "message": f"{name}: {death.ended.words}",
                "operations": sequence_to_json(death.operations),
                "expected": f"{name} returns or raises",
                "actual": death.ended.words,
                "fingerprint": f"{requirement}/{name}/any/life",
                "operation": name,
                "state": "any",
                "aspect": "life",
                "driver": "exhaustive",
                "store_options": death.options.to_json(),
                "confirmed": "in a fresh process",
            }
        )
