"""What may come on a subscription, and what may not.

Sources: MCP 2026-07-28, basic/patterns/subscriptions; tasks extension, "Task Status Notifications".  Nothing but the
acknowledgement must come: silence is never judged otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.probes.subscription import ACKNOWLEDGED, Subscription, is_response
from mcptasks.conformance.wire.forms import instant
from mcptasks.conformance.wire.messages import DetailedTask
from mcptasks.conformance.wire.names import SUBSCRIPTION_ID, TERMINAL_STATUSES
from mcptasks.strategies.json_values import JSON, json_equal, text_of

__all__ = ["TASK_STATUS", "Heard", "ack_deadline"]

TASK_STATUS: Final = "notifications/tasks"

_PROGRESS: Final = "notifications/progress"
_LOG: Final = "notifications/message"
_CANCELLED: Final = "notifications/cancelled"
_TYPES: Final[Mapping[str, str]] = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
    "resourceSubscriptions": "notifications/resources/updated",
}
_FILTER: Final = frozenset({*_TYPES, "taskIds"})
_COMPARED: Final = ("taskId", "status", "result", "error", "inputRequests")
_THERE: Final = ("statusMessage", "lastUpdatedAt")
"""Members that a read may move: only whether they are there is compared."""
_ACK_S: Final = 1.0
_CLOCK_S: Final = 1.0
"""Seconds by which a time may differ: one of the two may be rounded."""
_TASK: Final[TypeAdapter[Any]] = TypeAdapter(DetailedTask)


def ack_deadline(session: ProbeSession) -> float:
    """Seconds until an acknowledgement must be there (contract, section 4)."""
    settle = session.source.spec.settle
    if settle is not None:
        return max(settle, _ACK_S)  # it is an answer and no effect: the network has its time
    return 2.0 if session.profile.settles else 10.0


def _members(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _same(found: object, wanted: str | int) -> bool:
    if isinstance(wanted, str) or isinstance(found, (str, bool)):
        return type(found) is type(wanted) and found == wanted
    return bool(found == wanted)


def _deviations(task: object) -> dict[tuple[str, ...], str]:
    """What a task's members lack of a ``DetailedTask``, by place."""
    try:
        _TASK.validate_python(task)
    except ValidationError as error:
        status = str(_members(task).get("status"))
        found: dict[tuple[str, ...], str] = {}
        for item in error.errors(include_url=False, include_input=False, include_context=False):
            place = tuple(str(part) for part in item["loc"])
            place = place[1:] if place[:1] == (status,) else place
            message = item["msg"]
            if item["type"].startswith("union_tag"):
                place, message = ("status",), "Field required" if "not_found" in item["type"] else "is none of the five"
            found[place] = f"{'.'.join(place) or 'the task'}: {message}"
        return found
    return {}


class Heard:
    """Judges everything that has come on one subscription.

    Args:
        session: of the probe.
        held: the subscription.
        unsupported: members of its filter that the server cannot honour.
        tag: the requirement on the subscription's id that is judged.
    """

    def __init__(
        self,
        session: ProbeSession,
        held: Subscription,
        *,
        unsupported: Collection[str] = (),
        tag: str | None = None,
    ) -> None:
        self._session = session
        self._held = held
        self._unsupported = unsupported
        asked = held.asked.get("taskIds")
        self._asked: list[str] = [item for item in asked if isinstance(item, str)] if isinstance(asked, list) else []
        self._of_tasks = "taskIds" in held.asked
        self._first = "tasks.notif.ack-first" if self._of_tasks else "core.sub.ack-first"
        self._tag = tag or ("tasks.notif.subscription-id" if self._of_tasks else "core.sub.id")
        self._subset = "tasks.notif.ack-ids" if self._of_tasks else "core.sub.ack-subset"
        self._agreed: set[str] | None = None
        self.ended: dict[str, dict[str, Any]] = {}
        """The notification of the end of each task, by id."""
        self.count = 0
        """How many notifications of tasks have come."""

    @property
    def _what(self) -> str:
        return f"a subscription to {'a task' if self._of_tasks else 'changes of lists'}"

    def _check(
        self, requirement: str, ok: bool, expected: str, actual: str, aspect: str, did: str | None = None
    ) -> None:
        self._session.check(
            requirement,
            ok,
            expected=expected,
            actual=actual,
            message=f"{self._what} {did or f'carries {actual}'}",
            aspect=aspect,
        )

    # --- the beginning -------------------------------------------------------------------------

    async def acknowledged(self) -> None:
        """Wait for the first message, which must be the acknowledgement.

        Raises:
            ProbeSkipped: the server refuses the subscription, or is slow where it may be.
        """
        await self._held.opening()
        seconds = ack_deadline(self._session)
        if not await self._held.until(bool, seconds):
            answer = self._held.answer
            if answer is None:
                if not self._session.profile.settles:
                    raise ProbeSkipped(f"a subscription was not acknowledged within {seconds:g} s")
                did = f"is not acknowledged within {seconds:g} s"
                self._check(self._first, False, ACKNOWLEDGED, f"nothing within {seconds:g} s", "silent", did)
            elif not self._held.opened or not answer.ended:
                raise ProbeSkipped(f"a subscription is answered with {answer.told}")
            else:
                did = "ends without any message"
                self._check(self._first, False, ACKNOWLEDGED, "the end of the stream", "empty", did)
        first = self._held.messages[0]
        if is_response(first):
            error = _members(first).get("error")
            if error is not None:
                raise ProbeSkipped(f"a subscription is refused: {text_of(error, 120)}")
            did = "is answered with a result, and was never acknowledged"
            self._check(
                self._first, False, ACKNOWLEDGED, f"the result {text_of(_members(first)['result'], 80)}", "result", did
            )

    @property
    def agrees(self) -> bool:
        """Whether the acknowledgement, the first message, names a task."""
        params = _members(_members(self._held.messages[0]).get("params"))
        return bool(_members(params.get("notifications")).get("taskIds"))

    # --- every message -------------------------------------------------------------------------

    async def judge(self, *tasks: ProbeTask) -> None:
        """Judge what has come so far, up to the response that ends it.

        Args:
            tasks: those it may tell of: what deviates in ``tasks/get`` too is no fault of a notification.

        Raises:
            ProbeOver: something is wrong.
        """
        shown: dict[str, Mapping[str, Any]] = {}
        for task in tasks:
            answer = await self._session.ask("tasks/get", {"taskId": task.id})
            if answer.result is not None:  # it may be gone by now
                shown[task.id] = answer.result
        for number, message in enumerate(self._held.messages):
            if is_response(message):
                break
            if isinstance(message, Mapping) and isinstance(message.get("method"), str):
                self._one(message, number, shown)
        for requirement in ("rpc.server-no-requests", "core.sub.requested-only"):
            self.kept(requirement)

    def kept(self, requirement: str) -> None:
        """Count a requirement that a message could have breached, and none did."""
        self._session.check(requirement, True, expected="", actual="", message="")

    def _one(self, message: Mapping[str, Any], number: int, shown: Mapping[str, Mapping[str, Any]]) -> None:
        method: str = message["method"]
        told = text_of(method, 60)
        params = _members(message.get("params"))
        if method.startswith("notifications/"):
            expected, actual = "a notification without id", f"{told} with the id {text_of(message.get('id'), 40)}"
            self._check("rpc.notification-no-id", "id" not in message, expected, actual, "id")
        elif "id" in message:
            self._check("rpc.server-no-requests", False, "notifications", f"the request {told}", "request")
        if method in (_PROGRESS, _LOG):
            self._check(
                self._request_scoped(method), False, "no progress and no log messages", told, method.rpartition("/")[2]
            )
        if number == 0:
            did = f"begins with {told}, before the acknowledgement"
            self._check(self._first, method == ACKNOWLEDGED, ACKNOWLEDGED, told, "order", did)
        meta = _members(params.get("_meta"))
        found = meta.get(SUBSCRIPTION_ID)
        tagged = f"{SUBSCRIPTION_ID} {text_of(self._held.id, 40)}"
        carried = (
            f"with {SUBSCRIPTION_ID} {text_of(found, 40)}" if SUBSCRIPTION_ID in meta else f"without {SUBSCRIPTION_ID}"
        )
        actual = f"{told} {carried}"
        self._check(self._tag, _same(found, self._held.id), tagged, actual, "ack" if number == 0 else "tag")
        if method == ACKNOWLEDGED:
            self._acknowledgement(params)
        elif method == TASK_STATUS:
            self._task(params, shown)
        else:
            self._other(method, params)

    def _request_scoped(self, method: str) -> str:
        if not self._of_tasks:
            return "http.listen-no-progress"
        return "tasks.notif.no-progress" if method == _PROGRESS else "tasks.notif.no-message"

    # --- the acknowledgement -------------------------------------------------------------------

    def _acknowledgement(self, params: Mapping[str, Any]) -> None:
        agreed = params.get("notifications")
        expected = "notifications: what it agrees to, of what was asked for"
        actual = f"an acknowledgement with {text_of(dict(params), 120)}"
        self._check(self._subset, isinstance(agreed, Mapping), expected, actual, "filter")
        members = _members(agreed)
        if self._of_tasks:
            self._agree(members)
        more = [name for name, value in members.items() if value and name in _FILTER and name not in self._held.asked]
        self._check(
            "core.sub.ack-subset", not more, "nothing that was not asked for", f"an acknowledgement of {more}", "more"
        )
        false = [name for name in self._unsupported if members.get(name)]
        if self._unsupported:
            self._check(
                "core.sub.ack-subset",
                not false,
                "an acknowledgement without the types that the server does not support",
                f"an acknowledgement of {false}, of which server/discover shows no capability",
                "unsupported",
            )

    def _agree(self, members: Mapping[str, Any]) -> None:
        ids = members.get("taskIds")
        if "taskIds" in members:
            expected = "taskIds: an array of ids that were asked for"
            actual = f"an acknowledgement with taskIds {text_of(ids, 120)}"
            good = isinstance(ids, list) and all(isinstance(item, str) and item in self._asked for item in ids)
            self._check("tasks.notif.ack-ids", good, expected, actual, "ids")
            self._agreed = (self._agreed or set()) | set(ids or ())
        else:
            self.kept("tasks.notif.ack-ids")

    # --- notifications -------------------------------------------------------------------------

    def _task(self, params: Mapping[str, Any], shown: Mapping[str, Mapping[str, Any]]) -> None:
        found = params.get("taskId")
        task_id: str | None = found if isinstance(found, str) else None
        if task_id is not None and task_id not in (self._agreed or ()):
            asked = task_id in self._asked
            unlisted = asked and self._agreed is None
            self._check(
                "tasks.notif.ack-ids" if unlisted else "tasks.notif.only-acked",
                False,
                "no notification of a task that is not acknowledged",
                f"a notification of a task that was {'asked for and not acknowledged' if asked else 'not asked for'}",
                "unlisted" if unlisted else "asked" if asked else "foreign",
            )
        self.count += 1
        wrong = _deviations(dict(params))
        for place in _deviations(dict(shown[task_id])) if task_id is not None and task_id in shown else ():
            wrong.pop(place, None)
        actual = f"a notification of a task of status {text_of(params.get('status'), 40)} with {'; '.join(wrong.values())[:160]}"
        self._check("tasks.notif.full-task", not wrong, "the whole task, as tasks/get shows it", actual, "members")
        self.kept("tasks.notif.method")
        self._session.choice("tasks.notif.no-result-type", "with resultType" if "resultType" in params else "without")
        if task_id is not None and params.get("status") in TERMINAL_STATUSES:
            self.ended[task_id] = dict(params)

    def _other(self, method: str, params: Mapping[str, Any]) -> None:
        told = text_of(method, 60)
        if method == _CANCELLED and _same(params.get("requestId"), self._held.id):
            return  # how a subscription ends elsewhere (ambiguity CON-09)
        if params.get("taskId") in self._asked and "status" in params:
            self._check("tasks.notif.method", False, TASK_STATUS, f"the state of a task as {told}", "method")
        asked = [name for name, value in self._held.asked.items() if value]
        wanted = [_TYPES[name] for name in asked if name in _TYPES]
        self._check("core.sub.requested-only", method in wanted, " or ".join((*wanted, TASK_STATUS)), told, "type")

    # --- afterwards ----------------------------------------------------------------------------

    async def same_as_get(self, tasks: Collection[ProbeTask]) -> None:
        """Compare what was told of tasks that have ended with what ``tasks/get`` shows: only they cannot change."""
        for task in tasks:
            told = self.ended.get(task.id)
            if told is None:
                continue
            answer = await self._session.ask("tasks/get", {"taskId": task.id})
            shown = answer.result
            if shown is None:  # it may be gone by now
                continue
            wrong = [name for name in _COMPARED if not _equal(told, shown, name)]
            wrong += [name for name in _THERE if (name in told) != (name in shown)]
            wrong += ["createdAt"] if not _near(told.get("createdAt"), shown.get("createdAt")) else []
            first = wrong[0] if wrong else "status"
            self._check(
                "tasks.notif.same-as-get",
                not wrong,
                f"{first} {text_of(shown.get(first), 120)}, as tasks/get shows it",
                f"{first} {text_of(told.get(first), 120)}",
                first,
                f"tells of the end of a task with {first} {text_of(told.get(first), 80)}, and tasks/get shows "
                f"{text_of(shown.get(first), 80)}",
            )

    def end(self) -> None:
        """Judge how the server has ended the subscription, if it has."""
        position = next((place for place, item in enumerate(self._held.messages) if is_response(item)), None)
        answer = self._held.answer
        if position is None:
            if answer is not None and answer.ended:
                did = "ends without a response"
                self._check("tasks.notif.graceful-end", False, "a result at the end", "none", "none", did)
            return
        message = _members(self._held.messages[position])
        result = _members(message.get("result"))
        tagged = _same(_members(result.get("_meta")).get(SUBSCRIPTION_ID), self._held.id)
        expected = f"a result of type complete with {SUBSCRIPTION_ID} {text_of(self._held.id, 40)}, as the last message"
        good = _same(message.get("id"), self._held.id) and result.get("resultType") == "complete" and tagged
        self._check(
            "tasks.notif.graceful-end",
            good and position == len(self._held.messages) - 1,
            expected,
            f"{text_of(dict(message), 160)} {'and more' if good else ''}".rstrip(),
            "form" if not good else "more",
            f"ends with {text_of(dict(message), 160)}{', and goes on' if good else ''}",
        )


def _equal(told: Mapping[str, JSON], shown: Mapping[str, JSON], name: str) -> bool:
    return (name in told) == (name in shown) and json_equal(told.get(name), shown.get(name))


def _near(told: JSON, shown: JSON) -> bool:
    first, second = instant(told), instant(shown)
    if first is None or second is None:
        return json_equal(told, shown)
    return abs((first - second).total_seconds()) <= _CLOCK_S
