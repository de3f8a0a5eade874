"""Did every answer reach its question, and no other? (tasks extension, "Task Updates")

A tool that steps tasks may tell which answers the task's own code has received.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptasks.conformance.engine.wire_profiles import Step
from mcptasks.conformance.engine.wire_tasks import WireTask
from mcptasks.strategies.json_values import Payload, text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.wire_interpreter import WireInterpreter

__all__ = ["AnswerJudge"]

_REQUIREMENT = "tasks.update.right-question"


class AnswerJudge:
    """The interpreter's judgement of delivered answers."""

    def __init__(self, interpreter: WireInterpreter) -> None:
        self._run = interpreter

    @property
    def given_up(self) -> bool:
        """Whether it was seen before that an answer never arrives."""
        return f"{_REQUIREMENT}/resolve/input_required/missing" in self._run.known

    def judge(self, task: WireTask, step: Step) -> None:
        """Judge what a step told of the answers.

        Raises:
            Stop: an answer was received that was not given to that question.
        """
        if step.answers is None or task.unjudged:
            return
        task.tells_answers = True
        for name, value in step.answers.items():
            # The tool may tell of the server's name or of the one that was asked for, which may be that of another.
            keys = list(dict.fromkeys((task.known_as.get(name, name), *((name,) if name in task.requests else ()))))
            self._run.exercised[_REQUIREMENT] += 1
            reached = [key for key in keys if any(response.matches(value) for response in _lawful(task, key))]
            if not reached:
                lawful = _lawful(task, keys[0])
                late = any(response.matches(value) for response in task.sent.get(keys[0], []))
                self._run.breach(
                    "tasks.update.ignore-answered" if late else _REQUIREMENT,
                    "resolve",
                    "resolve",
                    "input_required",
                    "payload",
                    f"the task's code got {text_of(value, 80)} as the answer to {text_of(name, 40)}",
                    " or ".join(text_of(response.value, 80) for response in lawful[:3]) or "no answer: none was given",
                    text_of(value, 120),
                )
            task.delivered.update(reached)

    def outstanding(self, task: WireTask) -> list[str]:
        """Keys that were seen to be answered and whose answer the task's code has not told of."""
        if task.unjudged or (task.steps and not task.tells_answers):
            return []
        return [key for key in task.taken if key not in task.delivered]

    def missing(self, task: WireTask) -> None:
        """Report that answers did not arrive.

        Raises:
            Stop: unless it is known.
        """
        keys = self.outstanding(task)
        if not keys or not task.tells_answers:
            return
        self._run.breach(
            _REQUIREMENT,
            "resolve",
            "resolve",
            "input_required",
            "missing",
            f"the answer to {text_of(keys[0], 40)} has left inputRequests and never reached the task's code",
            "an answer that was taken reaches the question",
            f"no answer to {text_of(keys[0], 40)} within {self._run.deadline(task):g} s",
            soft=True,
            waited=True,
        )


def _lawful(task: WireTask, key: str) -> list[Payload]:
    """The answers to a question that its task may have got: once one was seen to be taken, later ones are ignored."""
    sent = task.sent.get(key, [])
    return sent[: task.taken[key]] if key in task.taken else sent
