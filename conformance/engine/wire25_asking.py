"""Questions of a 2025-11-25 task: asked by a step, answered when the sequence says so.

A question is a request of the server's, which may come on any stream.  It is known by its text, which no other of the
run has; whether it names its task itself is a requirement (MCP 2025-11-25, "Associating Task-Related Messages").
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from mcptasks.conformance.engine.wire25_tasks import Asked, Task25
from mcptasks.conformance.engine.wire_profiles import Step
from mcptasks.conformance.model.states import LIVE, Call
from mcptasks.conformance.model.wire_2025 import RUNNING
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.conformance.wire.translate import response_of
from mcptasks.conformance.wire_2025.forms import related_task
from mcptasks.conformance.wire_2025.session import Question, Session
from mcptasks.strategies.json_values import JSON, Payload, text_of
from mcptasks.strategies.operations import Resolve

if TYPE_CHECKING:
    from mcptasks.conformance.engine.wire25_interpreter import Wire25Interpreter

__all__ = ["QuestionJudge"]

_RELATED: Final = "tasks25.rel.all-messages"
_ACCEPTED: Final = "http25.accepted-202"
_IN_VAIN: Final = 3
"""Waits in vain after which questions are no longer waited for."""
_BRIEF: Final = 0.1
_SCHEMA: Final[dict[str, JSON]] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}


def question_of(body: Payload, number: int) -> Payload:
    """The request that stands for a question's body, with a text that no other number has."""
    text = body.text if len(body.text) <= 60 else f"{body.text[:50]}…"
    message = f"question {number}: {text}"
    if len(body.text) % 7 == 3:
        content = {"type": "text", "text": message}
        return Payload(
            {
                "method": "sampling/createMessage",
                "params": {"messages": [{"role": "user", "content": content}], "maxTokens": 16},
            }
        )
    return Payload({"method": "elicitation/create", "params": {"message": message, "requestedSchema": dict(_SCHEMA)}})


def text_in(params: Mapping[str, JSON]) -> str:
    """What a question asks, in words."""
    message = params.get("message")
    if isinstance(message, str):
        return message
    messages = params.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    content = last.get("content") if isinstance(last, Mapping) else None
    if isinstance(content, list) and content:
        content = content[0]
    text = content.get("text") if isinstance(content, Mapping) else None
    return text if isinstance(text, str) else ""


class QuestionJudge:
    """The interpreter's dealings with questions and answers."""

    def __init__(self, interpreter: Wire25Interpreter) -> None:
        self._run = interpreter
        self._by_text: dict[str, Asked] = {}
        self._seen = 0
        self._session: Session | None = None

    def begin(self, session: Session) -> None:
        """Begin with what comes from now on."""
        self._by_text.clear()
        self._session = session
        self._seen = len(session.questions)

    def ask(self, task: Task25, key: str, body: Payload) -> Asked:
        """Note that a step asks ``body`` under ``key``."""
        server = self._run.store
        server.questions_asked += 1
        request = question_of(body, server.questions_asked)
        name, number = key, 2
        while name in task.asked:
            name, number = f"{key}#{number}", number + 1
        asked = Asked(task, key, name, request)
        task.asked[name] = task.current[key] = asked
        self._by_text[text_in(request.value["params"])] = asked
        return asked

    def look(self) -> None:
        """Judge the questions that have come since the last look.

        Raises:
            Stop: one does not name its task.
        """
        session = self._session
        if session is None:
            return
        while self._seen < len(session.questions):
            question = session.questions[self._seen]
            self._seen += 1
            asked = self._by_text.get(text_in(question.params))
            if asked is not None and asked.question is None:
                asked.question = question
            elif asked is not None and asked.question is not None:
                self._once(asked.question, question)
            self._related(question, None if asked is None else asked.task)

    def _once(self, first: Question, second: Question) -> None:
        """A message goes to one stream (Streamable HTTP, "Multiple Connections")."""
        if first.id != second.id or first.stream == second.stream:
            return
        told = f"sends a {first.method} on the streams of {first.stream} and {second.stream}"
        self._run.breach(
            "http25.one-stream", "set_input", "set", "input_required", "question", f"the server {told}", "one stream", told,
            soft=True,
        )  # fmt: skip

    def _related(self, question: Question, task: Task25 | None) -> None:
        run = self._run
        if task is None and not run.profile.free:
            return  # of an earlier sequence, or the server's own
        run.automaton.shapes["question"] += 1
        named = related_task(question.params)
        if task is None:
            known = [item for item in run.tasks.values() if item.id == named]
            if known:
                self._adopt(known[0], question)
            ok = bool(known) or named in run.store.seen_ids
        else:
            ok = named == task.id
        if ok:
            return
        shown = "no related-task" if named is None else f"related-task {text_of(named, 60)}"
        run.breach(
            _RELATED,
            "set_input",
            "set",
            "input_required",
            "question" if named is None else "question-task",
            f"a {question.method} that a task sends has {shown} in its _meta",
            f"related-task {text_of(task.id, 60) if task is not None else 'of the task'}",
            shown,
            soft=True,
        )

    @staticmethod
    def _adopt(task: Task25, question: Question) -> None:
        """A question that a task asks by itself."""
        name = f"q{len(task.asked) + 1}"
        asked = Asked(task, name, name, Payload({"method": question.method, "params": dict(question.params)}))
        asked.question = question
        task.asked[name] = asked

    # --- answers ---------------------------------------------------------------------------

    async def resolve(self, task: Task25, operation: Resolve) -> None:
        """Answer the questions that an operation answers, as far as there are any."""
        run = self._run
        if task.unjudged:
            return
        if task.node.status not in (*LIVE, RUNNING):
            await self._answer_late(task, operation)
            return
        if task.cause is not None and task.node.status in LIVE:
            await run.reads.read(task)  # whether it waits for an answer must be known before one is given
        answered: list[tuple[int, int]] = []
        for key, body in operation.responses:
            asked = task.current.get(key)
            if asked is None and run.profile.free and key != "never-asked":
                free = [item for item in task.asked.values() if item not in task.current.values()]
                if not free:
                    await self._coming(task)
                    free = [item for item in task.asked.values() if item not in task.current.values()]
                if free:
                    asked = task.current[key] = free[0]
            if asked is None:
                continue
            if not await self.awaited(task, asked):
                task.unjudged = True
                return
            if await self.answer(asked, body):
                answered.append((task.key_number(asked.name), 0))
        if answered:
            self._run.conclude(task, Call("resolve", tuple(sorted(answered))), "ok", None)

    async def _answer_late(self, task: Task25, operation: Resolve) -> None:
        """Answer what has come already, of a task that has ended: nothing may come of it."""
        for key, body in operation.responses:
            asked = task.current.get(key)
            if asked is not None and asked.question is not None and await self.answer(asked, body):
                self._run.conclude(task, Call("resolve", ((task.key_number(asked.name), 0),)), "ok", None)

    async def _coming(self, task: Task25) -> None:
        """Wait for a question that a task asks by itself."""
        session = await self._run.session()
        if all(waiting.done for waiting in task.waiters):
            await self._run.results.begin(task)

        def came() -> bool:
            self.look()
            return any(asked not in task.current.values() for asked in task.asked.values()) or bool(session.lost)

        await session.until(came, self._run.deadline(task))

    async def awaited(self, task: Task25, asked: Asked) -> bool:
        """Wait until a question has come from the server, on a stream that is opened for it if need be."""
        run, session = self._run, self._session
        assert session is not None
        self.look()
        if asked.question is not None:
            return True
        if all(waiting.done for waiting in task.waiters):
            await run.results.begin(task)
        patience = run.deadline(task) if run.store.missed["question"] < _IN_VAIN else _BRIEF

        def came() -> bool:
            self.look()
            return asked.question is not None or bool(session.lost) or all(item.done for item in task.waiters)

        await session.until(came, patience)
        if asked.question is not None:
            return True
        run.store.missed["question"] += 1
        run.store.note(
            "a question that a step has had a task ask did not come on any stream, with a tasks/result under way: "
            "what follows from its answer is not exercised there"
        )
        return False

    async def answer(self, asked: Asked, body: Payload) -> bool:
        """Send an answer; false if there is nothing to answer any more."""
        question = asked.question
        assert question is not None
        assert self._session is not None
        if question.answered:
            return False
        response = response_of(body, Payload({"method": question.method, "params": _without_meta(question.params)}))
        asked.responses.append(response)
        self._run.transcript.remark(
            f"answer to the {question.method} {text_of(text_in(question.params), 60)}: post "
            f'{{"jsonrpc":"2.0","id":<its id>,"result":{response.text}}}'
        )
        status = await self._run.said(self._session.answer(question, response.fresh()), "resolve")
        if status is None:
            return False
        self._run.exercised[_ACCEPTED] += 1
        if status >= 400:
            self._run.store.note(f"an answer to a {question.method} is refused with HTTP {status}")
            asked.task.unjudged = True
        elif status != 202:
            told = f"an answer to a {question.method} is answered with HTTP {status}"
            self._run.soft(_ACCEPTED, "resolve", "every", "status", told, "HTTP 202, or an HTTP error")
        return True

    def judge(self, task: Task25, step: Step) -> None:
        """Judge what a step told of the answers that the task's code has received.

        Raises:
            Stop: an answer was received that was not given to that question.
        """
        if step.answers is None or task.unjudged:
            return
        for name, value in step.answers.items():
            asked = task.asked.get(name)
            if asked is None or not isinstance(value, dict) or not ({"action", "role"} & value.keys()):
                continue  # not told, or that the tool could not ask
            self._run.exercised[_RELATED] += 1
            got = _plain(value)
            if any(response.matches(got) for response in asked.responses):
                continue
            wanted = " or ".join(text_of(response.value, 80) for response in asked.responses[:3])
            self._run.breach(
                _RELATED,
                "resolve",
                "resolve-all",
                "input_required",
                "answer",
                f"the task's code got {text_of(got, 80)} as the answer to {text_of(name, 40)}",
                wanted or "no answer: none was given",
                text_of(got, 120),
            )

    async def leave(self) -> None:
        """Answer what is still open, so that nothing in the server waits for it for ever."""
        session = self._session
        if session is None or session.lost:
            return
        for question in session.questions:
            if question.answered:
                continue
            with suppress(WireProblem):
                if question.method == "elicitation/create":
                    await session.answer(question, {"action": "cancel"}, beyond=True)
                else:
                    error = {"code": -1, "message": "the sequence is over"}
                    await session.answer(question, None, error, beyond=True)


def _without_meta(params: Mapping[str, JSON]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key != "_meta"}


def _plain(value: JSON) -> JSON:
    """A received answer without what an SDK may have added."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key != "_meta" and item is not None}
