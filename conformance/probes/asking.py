"""A tool that asks before it makes a task: rounds of one call, and what comes back with them.

Sources: MCP 2026-07-28, basic/patterns/mrtr; tasks extension, "Task Creation".  The tool is the official suite's
``test_tool_with_task``, of which it is known that it needs a name first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped
from mcptasks.conformance.wire import translate
from mcptasks.conformance.wire.names import TASKS_EXTENSION, TERMINAL_STATUSES
from mcptasks.conformance.wire.payloads import InputRequest
from mcptasks.strategies.json_values import JSON, Payload, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_TOOL: Final = "test_tool_with_task"
_ANSWER: Final = Payload("mcptasks")
_ROUNDS: Final = 4
"""Rounds after which a tool that still asks is left alone."""
_TAMPERED: Final = 16
"""Places at which a requestState is changed, one at a time."""
_REQUEST: Final[TypeAdapter[Any]] = TypeAdapter(InputRequest)
_KINDS: Final = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""Kinds of requests, and the capability by which a client says that it takes them."""
_NEVER_ASKED: Final = "mcptasks-never-asked"


async def _call(
    session: ProbeSession,
    asked: Mapping[str, JSON] | None = None,
    responses: JSON = None,
    *,
    state: JSON = None,
    capabilities: Mapping[str, JSON] | None = None,
) -> RawAnswer:
    """A round: the first, or the one behind ``asked`` with ``responses``; ``state`` stands in for its requestState."""
    params: dict[str, JSON] = {"name": _TOOL, "arguments": {}}
    if asked is not None:
        params["inputResponses"] = {} if responses is None else responses
        given = asked.get("requestState") if state is None else state
        if given is not None:
            params["requestState"] = given
    answer = await session.ask("tools/call", params, capabilities=capabilities)
    if isinstance((answer.result or {}).get("taskId"), str):
        session.adopt(answer.result or {})
    return answer


def _asks(answer: RawAnswer) -> bool:
    return (answer.result or {}).get("resultType") == "input_required"


def _requests(asked: Mapping[str, JSON]) -> dict[str, JSON]:
    requests = asked.get("inputRequests")
    return requests if isinstance(requests, dict) else {}


def _responses(asked: Mapping[str, JSON]) -> dict[str, JSON]:
    """A good response to everything that is asked."""
    out: dict[str, JSON] = {}
    for key, request in _requests(asked).items():
        try:
            out[key] = translate.response_of(_ANSWER, Payload(request)).fresh()
        except (AttributeError, TypeError, ValueError):
            raise ProbeSkipped(f"the tool {_TOOL} asks what cannot be answered") from None
    return out


async def _offered(session: ProbeSession) -> None:
    if _TOOL not in await session.tools():
        raise ProbeSkipped(f"the server has no tool that is known to ask before it makes a task ({_TOOL})")


async def _asked(session: ProbeSession) -> dict[str, Any]:
    """What the tool asks first, once it asks something.

    Raises:
        ProbeSkipped: it does not.
    """
    await _offered(session)
    answer = await _call(session)
    for _ in range(_ROUNDS):
        if not _asks(answer) or _requests(answer.result or {}):
            break
        answer = await _call(session, answer.result)
    result = answer.result
    if result is None or not _asks(answer) or not _requests(result):
        told = "a task" if result is not None and "taskId" in result else answer.told
        raise ProbeSkipped(f"the tool {_TOOL} asks nothing: it gives {told}")
    return result


@GROUP.probe("mrtr.rounds", "core.mrtr.nonempty", "core.mrtr.kinds", "tasks.create.mrtr-first")
async def rounds(session: ProbeSession) -> None:
    """The tool asks on the call itself, makes no task meanwhile, and goes on with what was answered."""
    await _offered(session)
    answer = await _call(session)
    if not _asks(answer):
        raise ProbeSkipped(f"the tool {_TOOL} asks nothing: it gives {answer.told}")
    for _ in range(_ROUNDS):
        asked = answer.result or {}
        _judge_question(session, asked)
        answer = await _call(session, asked, _responses(asked))
        session.check(
            "tasks.create.mrtr-first",
            answer.result is not None,
            expected="a task, a result, or the next question",
            actual=answer.told,
            message=f"a retry of {_TOOL} with an answer to all that it asked is answered with {answer.told}",
            aspect="retry",
        )
        if not _asks(answer):
            return


def _judge_question(session: ProbeSession, asked: Mapping[str, JSON]) -> None:
    session.check(
        "tasks.create.mrtr-first",
        "taskId" not in asked,
        expected="a question without a task",
        actual=f"a result with {', '.join(sorted(asked))}",
        message=f"{_TOOL} makes a task before its question is answered",
        aspect="early",
    )
    session.check(
        "core.mrtr.nonempty",
        isinstance(asked.get("inputRequests"), dict) or isinstance(asked.get("requestState"), str),
        expected="inputRequests or requestState",
        actual=f"a result with {', '.join(sorted(asked))}",
        message="a result says resultType input_required and has neither inputRequests nor requestState",
    )
    for key, request in _requests(asked).items():
        problem = _malformed(request)
        session.check(
            "core.mrtr.kinds",
            problem is None,
            expected="an ElicitRequest, a CreateMessageRequest or a ListRootsRequest",
            actual=f"{text_of(request, 120)}: {problem}",
            message=f"inputRequests has under {text_of(key, 40)} what is no request of the three kinds",
        )


def _malformed(request: JSON) -> str | None:
    try:
        _REQUEST.validate_python(request)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return None


@GROUP.probe("mrtr.declared-only", "core.mrtr.declared-only")
async def declared_only(session: ProbeSession) -> None:
    """A client is asked nothing of a kind that it did not declare."""
    used = {str(item.get("method")) for item in _requests(await _asked(session)).values() if isinstance(item, dict)}
    declared: dict[str, JSON] = {"extensions": {TASKS_EXTENSION: {}}}
    for words, capabilities in (
        ("declares tasks only", declared),
        ("declares nothing", {}),
        (
            "declares the kinds that the tool does not use",
            {**declared, **{name: {} for method, name in _KINDS.items() if method not in used}},
        ),
    ):
        answer = await _call(session, capabilities=capabilities)
        kinds = [str(item.get("method")) for item in _requests(answer.result or {}).values() if isinstance(item, dict)]
        undeclared = [kind for kind in kinds if kind in _KINDS and _KINDS[kind] not in capabilities]
        session.check(
            "core.mrtr.declared-only",
            not undeclared,
            expected="an error, or no request of a kind that the client did not declare",
            actual=f"inputRequests with {', '.join(undeclared)}" if undeclared else answer.told,
            message=f"a client that {words} is asked by {', '.join(undeclared)}",
        )


@GROUP.probe("mrtr.extra", "core.mrtr.ignore-extra")
async def extra(session: ProbeSession) -> None:
    """An answer that nobody asked for does no harm."""
    asked = await _asked(session)
    if (await _call(session, asked, _responses(asked))).result is None:
        raise ProbeSkipped(f"the tool {_TOOL} does not take good answers")
    asked = await _asked(session)
    more = {**_responses(asked), _NEVER_ASKED: translate.response_of(_ANSWER, None).fresh()}
    answer = await _call(session, asked, more)
    session.check(
        "core.mrtr.ignore-extra",
        answer.result is not None,
        expected="what the same answers get without the one too many",
        actual=answer.told,
        message=f"a retry with one answer more than was asked for is answered with {answer.told}",
    )


@GROUP.probe("mrtr.missing", "core.mrtr.ask-again")
async def missing(session: ProbeSession) -> None:
    """What was not answered is asked again."""
    for words, responses in (
        ("no answer", {}),
        ("an answer to something else", {_NEVER_ASKED: translate.response_of(_ANSWER, None).fresh()}),
    ):
        asked = await _asked(session)  # anew, since a state may be good for one retry only
        answer = await _call(session, asked, responses)
        session.check(
            "core.mrtr.ask-again",
            answer.result is not None,
            expected="resultType input_required, with the question again",
            actual=answer.told,
            message=f"a retry with {words} is answered with {answer.told}",
            choice="asks again" if _asks(answer) else "goes on without",
        )


@GROUP.probe("mrtr.malformed", "core.mrtr.validate")
async def malformed(session: ProbeSession) -> None:
    """What is no answer is not taken for one."""
    asked = await _asked(session)
    bad: tuple[tuple[str, JSON], ...] = (
        ("a text for inputResponses", "mcptasks"),
        ("numbers for answers", dict.fromkeys(_requests(asked), 5)),
        ("empty objects for answers", {key: {} for key in _requests(asked)}),
        ("an action that there is not", {key: {"action": "mcptasks-no-such-action"} for key in _requests(asked)}),
    )
    for words, responses in bad:
        answer = await _call(session, asked, responses)
        refused = answer.error is not None or (answer.result or {}).get("isError") is True
        session.check(
            "core.mrtr.validate",
            refused or _asks(answer),
            expected="an error",
            actual=answer.told,
            message=f"a retry with {words} is answered with {answer.told}",
            choice="asks again for what is no answer" if _asks(answer) else "refuses what is no answer",
        )


# --- requestState -----------------------------------------------------------------------------------------


async def _outcome(session: ProbeSession, answer: RawAnswer) -> JSON:
    """What an accepted retry led to, to be compared; ``None`` if it led to nothing that can be."""
    result = answer.result
    if result is None or _asks(answer) or result.get("isError") is True:
        return None
    if not isinstance(result.get("taskId"), str):
        return _plain(result)
    task = session.tasks[-1]
    for pause in (0.0, 0.02, 0.05, 0.2, 0.5):
        if pause:
            await session.client.pacer.sleep(pause)
        shown = await session.get(task)
        if shown.get("status") in TERMINAL_STATUSES:
            task.ended = True
            return _plain(shown.get("result")) if shown.get("status") == "completed" else None
    return None


def _plain(result: JSON) -> JSON:
    if not isinstance(result, dict):
        return result
    return {key: item for key, item in result.items() if key not in ("_meta", "resultType", "isError")}


async def _retried(session: ProbeSession, position: int | None) -> JSON:
    """What the tool makes of good answers, with the letter at ``position`` of its state changed; see `_outcome`."""
    asked = await _asked(session)
    state = asked.get("requestState")
    if not isinstance(state, str) or not state:
        raise ProbeSkipped(f"the tool {_TOOL} sends no requestState along")
    if position is not None:
        place = position * len(state) // _TAMPERED
        state = state[:place] + _other(state[place]) + state[place + 1 :]
    answer = await _call(session, asked, _responses(asked), state=state)
    return await _outcome(session, answer)


def _other(letter: str) -> str:
    """The next letter or digit: of Base64 it changes the last bits, which is likely to leave text that can be read."""
    for row in ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"):
        if letter in row:
            return row[(row.index(letter) + 1) % len(row)]
    return "A"


@GROUP.probe("mrtr.state", "core.mrtr.state-integrity")
async def state_integrity(session: ProbeSession) -> None:
    """A requestState that was changed leads to no other result than one that was not.

    It may be refused, be asked anew, or not matter at all.
    """
    wanted = await _retried(session, None)
    if wanted is None:
        raise ProbeSkipped(f"the tool {_TOOL} gives no result for good answers")
    for position in range(_TAMPERED):
        found = await _retried(session, position)
        if found not in (None, wanted) and await _retried(session, None) != wanted:
            raise ProbeSkipped(f"the tool {_TOOL} does not give the same result twice")
        session.check(
            "core.mrtr.state-integrity",
            found in (None, wanted),
            expected=f"a refusal, or the result {text_of(wanted, 80)} as without the change",
            actual=f"the result {text_of(found, 120)}",
            message="a retry whose requestState was changed on the way is accepted and gives another result",
        )
