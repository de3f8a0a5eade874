"""Judging what ``tasks/get`` shows: against the model, against what was shown before, against time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcptasks.conformance.engine.wire_describe import ASPECTS, ROWS, expected_states, method_of, shown, word
from mcptasks.conformance.engine.wire_tasks import WireTask, payload_of
from mcptasks.conformance.model.automaton import Cause, Node
from mcptasks.conformance.model.states import (
    ABSENT,
    COMPLETED,
    FAILED,
    GONE,
    LIVE,
    STATUSES,
    TERMINAL,
    TaskState,
)
from mcptasks.conformance.model.wire_2026 import CANCELLING, Seen, fit
from mcptasks.conformance.model.wire_attribution import unreadable
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.forms import instant, same_instant
from mcptasks.conformance.wire.names import HEADER_MISMATCH, INVALID_PARAMS
from mcptasks.strategies.json_values import JSON, Payload, text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.wire_interpreter import WireInterpreter

__all__ = ["ReadJudge"]

_PAYLOADS: Final = {COMPLETED: "result", FAILED: "error"}
_MEMBERS: Final = ("result", "error", "inputRequests")


class Unsettled:
    """A read that is lawful only for a moment."""

    __slots__ = ("aspect",)

    def __init__(self, aspect: str) -> None:
        self.aspect = aspect


class ReadJudge:
    """The interpreter's judgement of reads."""

    def __init__(self, interpreter: WireInterpreter) -> None:
        self._run = interpreter

    def judge(self, task: WireTask, reply: Reply, *, final: bool) -> Unsettled | None:
        """Judge one ``tasks/get``; what is not settled has to be read again unless this is the ``final`` time.

        Raises:
            Stop: it shows a breach.
        """
        if task.unjudged:
            return None
        result = reply.result
        cause = self._cause(task)
        if result is None:
            seen = self._refused(task, cause, reply)
        else:
            found = self._shown(task, result)
            if found is None:
                return None
            seen = found
        states = [(fit(state, seen), choice) for state, choice in task.node.states]
        fits = [(now, choice) for (now, _), choice in states if now is not None]
        settled = [pair for pair in fits if not pair[0].due]
        if settled:
            self._accept(task, cause, fits, result)
            return None
        aspect = "late" if fits else next(aspect for (_, aspect), _ in states)
        if aspect != "life" and task.near_expiry:
            task.unjudged = True  # its ttl passed while it was asked for
            return None
        if fits or any(fit(state, seen)[0] is not None for node in task.stale for state, _ in node.states):
            if not final:
                return Unsettled(aspect)
            if not self._run.profile.settles:
                self._run.inconclusive(task, cause)
                return None
            self._wrong(task, cause, aspect, reply, waited=True)
        if aspect == "life" and task.near_expiry:
            task.node = self._run.automaton.start(TaskState(GONE))
            task.cause = None
            return None
        if aspect == "life" and not task.was_read:
            # Whatever was done to it since: nobody has ever seen it.
            cause = self._run.automaton.cause("create", "create", task.node.status)
        self._wrong(task, cause, aspect, reply)
        return None

    # --- what was shown --------------------------------------------------------------------

    def _cause(self, task: WireTask) -> Cause:
        if task.cause is not None:
            return task.cause
        automaton, status = self._run.automaton, task.node.status
        between = self._run.changes[task.seen_at :]
        if not between:
            return automaton.cause("get", "reread", status)
        row = "other-cancel" if "cancel" in between else "other-resolve" if "resolve" in between else "other"
        return automaton.cause("get", row, status)

    def _refused(self, task: WireTask, cause: Cause, reply: Reply) -> Seen:
        task.outline = reply.code
        if reply.code == INVALID_PARAMS:
            return Seen(ABSENT)
        requirement = unreadable(task.node.status)
        if reply.code == HEADER_MISMATCH:
            requirement = "tasks.http.accept-match"
        actual = shown(None, reply.error)
        self._run.breach(
            requirement,
            "get",
            "get",
            task.node.status,
            "return",
            f"tasks/get of a task that is {word(task.node.status)} is answered with {actual}",
            expected_states(task, task.node),
            actual,
        )
        raise AssertionError("a breach without its stop")

    def _shown(self, task: WireTask, result: Mapping[str, JSON]) -> Seen | None:
        status = result.get("status")
        if not isinstance(status, str) or status not in STATUSES:
            task.unjudged = True  # reported by its form
            return None
        # An id that is no text, or none, is reported by its form.
        named = isinstance(result.get("taskId"), str) and task.node.status not in (ABSENT, GONE)
        if named and result["taskId"] != task.id:
            self._run.breach(
                "tasks.shape.id-echo",
                "get",
                "get",
                status,
                "identity",
                f"tasks/get shows a task whose taskId is {text_of(result.get('taskId'), 60)}",
                "the taskId that was asked for",
                f"taskId {text_of(result.get('taskId'), 60)}",
            )
        requests = result.get("inputRequests")
        pairs: set[tuple[int, int]] = set()
        if isinstance(requests, Mapping) and status in LIVE:
            asked = {name: _question(body) for name, body in requests.items()}
            # First of all of them: the server's name for one request may be ours for another.
            if any(task.shows_own_name(name, body) for name, body in asked.items()):
                self._run.store.renames_keys = True
            for name, body in asked.items():
                pairs.add(self._request(task, name, body))
        member = _PAYLOADS.get(status)
        payload = -1
        if member is not None:
            payload = task.body_number(
                payload_of(result.get(member), result=member == "result", error=member == "error")
            )
        others = [name for name in _MEMBERS if name != member and result.get(name) is not None]
        stray = any(name != "inputRequests" or (status in TERMINAL and result[name]) for name in others)
        self._times(task, status, result)
        task.was_read = True
        task.outline = (status, sorted(task.keys[key] for key, _ in pairs), payload, stray)
        return Seen(status, frozenset(pairs), payload, stray)

    def _request(self, task: WireTask, name: str, payload: Payload | None) -> tuple[int, int]:
        if name in task.vanished:
            self._run.breach(
                "tasks.update.no-reuse",
                "get",
                "get",
                "input_required",
                "pending-extra",
                f"the key {text_of(name, 40)} is asked again after its answer was taken",
                "a new question has a new key",
                f"inputRequests has {text_of(name, 40)} again",
            )
        self._run.exercised["tasks.update.no-two-meanings"] += 1
        first = task.meanings.setdefault(name, payload)
        if first != payload:
            self._run.breach(
                "tasks.update.no-two-meanings",
                "get",
                "get",
                "input_required",
                "pending-body",
                f"the key {text_of(name, 40)} of inputRequests now stands for another request",
                f"{text_of(name, 40)} stands for {_text(first)} for the life of the task",
                _text(payload),
            )
        key = task.learn(name, payload, renames=self._run.store.renames_keys is not False)
        if task.requests and self._run.store.renames_keys is not True:
            self._run.store.renames_keys = key != name
        return task.key_number(key), task.body_number(payload)

    # --- accepting -------------------------------------------------------------------------

    def _accept(
        self,
        task: WireTask,
        cause: Cause,
        fits: list[tuple[TaskState, Any]],
        result: Mapping[str, JSON] | None,
    ) -> None:
        automaton = self._run.automaton
        before = task.node
        choices = {choice for _, choice in fits}
        if len(choices) == 1:
            choice = choices.pop()
            if choice is not None and len(fits) == 1:
                automaton.choices[choice] += 1
            fits = [(state, None) for state, _ in fits]
        task.node = automaton.node(fits)
        cause.reads[task.node] = cause.reads.get(task.node, 0) + 1
        self._note_choices(before, task.node)
        if cause.row == "complete" and cause.state not in TERMINAL and task.node.status == COMPLETED:
            by = "iserror-completed" if _is_error(task, task.node) else "failed-only-jsonrpc"
            self._run.exercised[f"tasks.status.{by}"] += 1
        if result is not None:
            self._keys(task, result)
        task.cause = None
        task.stale.clear()
        task.seen_at = len(self._run.changes)

    def _note_choices(self, before: Node, now: Node) -> None:
        """What a server does with the freedom that a cancellation leaves it."""
        if before.status != CANCELLING:
            return
        choices = self._run.automaton.choices
        if now.status == CANCELLING:
            choices[("tasks.cancel.eventual", "still live after the acknowledgement")] += 1
            choices[("tasks.cancel.cooperative", "goes on working")] += 1
        elif now.status in TERMINAL:
            label = "ends cancelled" if now.status == "cancelled" else f"ends {now.status}"
            choices[("tasks.cancel.other-terminal", label)] += 1

    def _keys(self, task: WireTask, result: Mapping[str, JSON]) -> None:
        requests = result.get("inputRequests")
        shown_now = set(requests) if isinstance(requests, Mapping) else set()
        if result.get("status") in TERMINAL:
            return  # nothing is asked any more, answered or not
        for key, responses in task.sent.items():
            name = task.shown_as.get(key)
            if name is not None and name not in shown_now and key not in task.taken:
                task.taken[key] = len(responses)
                task.vanished.add(name)
        if task.vanished:
            self._run.exercised["tasks.update.no-reuse"] += 1

    # --- times -----------------------------------------------------------------------------

    def _times(self, task: WireTask, status: str, result: Mapping[str, JSON]) -> None:
        run = self._run
        created, updated = instant(result.get("createdAt")), instant(result.get("lastUpdatedAt"))
        ttl, poll = result.get("ttlMs"), result.get("pollIntervalMs")
        if task.created is not None and created is not None and not same_instant(created, task.created):
            run.soft(
                "tasks.shape.createdat-stable",
                "get",
                status,
                "createdAt",
                f"createdAt changes from {task.created.isoformat()} to {created.isoformat()}",
                "createdAt never changes",
            )
        was = task.updated
        if was is not None and updated is not None and updated < was and not same_instant(updated, was):
            run.soft(
                "tasks.shape.updated-monotone",
                "get",
                status,
                "lastUpdatedAt",
                f"lastUpdatedAt goes back from {was.isoformat()} to {updated.isoformat()}",
                "lastUpdatedAt never goes back",
            )
        if task.status:
            if type(ttl) in (int, type(None)) and ttl != task.ttl_ms:
                run.automaton.choices[("tasks.shape.ttl-may-change", "changes")] += 1
            if poll != task.poll_ms:
                run.automaton.choices[("tasks.shape.poll-may-change", "changes")] += 1
        task.created, task.updated = task.created or created, updated or task.updated
        task.ttl_ms = ttl if type(ttl) is int else None
        task.poll_ms = poll if type(poll) is int and poll >= 0 else None
        task.status = status

    def learn(self, task: WireTask, result: Mapping[str, JSON]) -> None:
        """Take the times of a new task from its ``CreateTaskResult``."""
        self._times(task, str(result.get("status")), result)

    # --- breaches --------------------------------------------------------------------------

    def _wrong(self, task: WireTask, cause: Cause, aspect: str, reply: Reply, *, waited: bool = False) -> None:
        run, node = self._run, task.node
        requirement = run.automaton.model.blame(cause.row, cause.state, aspect, node.status)
        if requirement in ("tasks.status.get-completed", "tasks.status.result-exact") and _is_error(task, node):
            requirement = "tasks.status.iserror-completed"
        elif requirement == "tasks.status.get-completed" and (reply.result or {}).get("status") == FAILED:
            requirement = "tasks.status.failed-only-jsonrpc"
        actual = shown(reply.result, reply.error)
        told = ROWS.get(cause.row, f"tasks/get after {method_of(cause.name)} on a task that was {word(cause.state)}")
        what = ASPECTS[aspect]
        text = f"{told}: {what}" if aspect == "late" else f"{told} shows {what}"
        if waited:
            text += f" for {run.deadline(task):g} s"
        run.breach(
            requirement,
            cause.name,
            cause.row,
            cause.state,
            aspect,
            text,
            expected_states(task, node),
            actual,
            waited=waited,
        )


def _question(body: JSON) -> Payload | None:
    """A request for input without what a server may say beside it."""
    if isinstance(body, Mapping):
        body = {key: value for key, value in body.items() if key != "_meta"}
        params = body.get("params")
        if isinstance(params, Mapping) and "_meta" in params:
            body["params"] = {key: value for key, value in params.items() if key != "_meta"}
    return payload_of(body)


def _is_error(task: WireTask, node: Node) -> bool:
    if node.status != COMPLETED or not 0 <= node.payload < len(task.bodies):
        return False
    value = task.bodies[node.payload].value
    return isinstance(value, dict) and value.get("isError") is True


def _text(payload: Payload | None) -> str:
    return "what cannot be read" if payload is None else text_of(payload.value, 120)
