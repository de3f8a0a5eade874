"""What a 2026-07-28 store may do: the operation × state table as a pure function.

:func:`successors` gives every lawful answer and next state of a call on a task in a known state.  A
cell that the contract leaves open has several.  Nothing here knows of targets, time or Hypothesis;
bounded search, random search, replay and the checking of concurrent histories all use this
function.
"""

from __future__ import annotations

from itertools import product

from mcptasks.conformance.model.states import (
    ABSENT,
    CANCELLED,
    COMPLETED,
    FAILED,
    GONE,
    INPUT_REQUIRED,
    LIVE,
    NO_PAYLOAD,
    TERMINAL,
    WORKING,
    Call,
    Pending,
    Successor,
    TaskState,
)

__all__ = ["classify", "successors"]

_MUTATORS = {"set": "input", "resolve": "resolve", "complete": "completed", "fail": "failed"}


def _live_status(pending: Pending) -> str:
    return INPUT_REQUIRED if pending else WORKING


def _set_live(state: TaskState, call: Call) -> list[Successor]:
    raising = Successor("raise", state)
    if not call.entries:
        if state.status == INPUT_REQUIRED:
            return [Successor("ok", state), raising]
        requirement = "store.input.empty-map"
        return [
            Successor("ok", state, (requirement, "leaves the task working")),
            Successor("ok", state._replace(status=INPUT_REQUIRED), (requirement, "asks for nothing")),
            Successor("raise", state, (requirement, "raises")),
        ]
    held = dict(state.pending)
    fresh: dict[int, int] = {}
    open_keys: list[list[tuple[int, int | None, str | None]]] = []
    repeats = False
    for key, body in call.entries:
        if key in held:
            repeats = True
            if held[key] != body:
                open_keys.append([(key, body, "overwrites"), (key, held[key], "keeps the first")])
        elif key in state.answered:
            repeats = True
            open_keys.append([(key, body, "accepts"), (key, None, "ignores")])
        else:
            fresh[key] = body
    answered = any(key in state.answered and key not in held for key, _ in call.entries)
    requirement = "store.input.answered-key" if answered else "store.input.same-pending-key"
    out: list[Successor] = []
    for combination in product(*open_keys):
        pending = {**held, **fresh}
        for key, chosen, _ in combination:
            if chosen is not None:
                pending[key] = chosen
        frozen = frozenset(pending.items())
        # A working task whose every new key was ignored was not asked anything; one that was already
        # asked stays so, also with nothing pending (an empty map that the store let through).
        status = INPUT_REQUIRED if frozen or state.status == INPUT_REQUIRED else WORKING
        labels = {label for _, _, label in combination if label} if combination else ()
        choice = (requirement, next(iter(labels))) if len(labels) == 1 else None
        # Built whole: _replace costs as much as everything else here, and this is the largest fan of all.
        asked = TaskState(status, frozen, state.answered, state.payload, state.expired, state.due)
        out.append(Successor("ok", asked, choice))
    if repeats:
        out.append(Successor("raise", state, (requirement, "raises")))
    return out


def _resolve_live(state: TaskState, call: Call) -> list[Successor]:
    keys = {key for key, _ in call.entries}
    matched = {key for key, _ in state.pending} & keys
    empty_ask = state.status == INPUT_REQUIRED and not state.pending
    out: list[Successor] = []
    if matched:
        pending = frozenset(pair for pair in state.pending if pair[0] not in matched)
        out.append(
            Successor(
                "ok", state._replace(status=_live_status(pending), pending=pending, answered=state.answered | matched)
            )
        )
    else:
        label = ("store.resolve.empty-map", "no effect") if not keys else None
        out.append(Successor("ok", state, label))
        if empty_ask:
            out.append(Successor("ok", state._replace(status=WORKING), ("store.resolve.empty-map", "back to working")))
    if not keys:
        out.append(Successor("raise", state, ("store.resolve.empty-map", "raises")))
    elif call.may_raise:
        out.extend([Successor("raise", item.state, ("store.event.handler-error", "propagates")) for item in out])
        # Where nothing matched no listener need have been called, and nothing was swallowed.
        out = [
            item
            if item.answer == "raise" or item.choice or not matched
            else item._replace(choice=("store.event.handler-error", "swallowed"))
            for item in out
        ]
    return out


def _end_live(state: TaskState, status: str, payload: int, answer: str) -> list[Successor]:
    kept = state._replace(status=status, payload=payload)
    if not state.pending:
        return [Successor(answer, kept)]
    requirement = "store.misc.pending-on-terminal"
    return [
        Successor(answer, kept, (requirement, "keeps what was pending")),
        Successor(answer, kept._replace(pending=frozenset()), (requirement, "clears what was pending")),
    ]


def _live(state: TaskState, call: Call) -> list[Successor]:
    match call.name:
        case "set":
            return _set_live(state, call)
        case "resolve":
            return _resolve_live(state, call)
        case "cancel":
            return _end_live(state, CANCELLED, NO_PAYLOAD, "true")
        case "complete":
            return _end_live(state, COMPLETED, call.payload, "ok")
        case _:
            return _end_live(state, FAILED, call.payload, "ok")


def _terminal(state: TaskState, call: Call) -> list[Successor]:
    if call.name == "cancel":
        return [Successor("false", state)]
    area = _MUTATORS[call.name]
    requirement = "store.resolve.terminal-inert" if area == "resolve" else f"store.{area}.terminal-noop"
    return [Successor("ok", state), Successor("raise", state, warn=requirement)]


def _absent(state: TaskState, call: Call) -> list[Successor]:
    if call.name == "cancel":
        return [Successor("false", state)]
    requirement = f"store.{_MUTATORS[call.name]}.absent"
    return [
        Successor("ok", state, (requirement, "ignored")),
        Successor("raise", state, (requirement, "raises")),
    ]


def successors(state: TaskState, call: Call) -> list[Successor]:
    """Every lawful answer and next state of ``call`` on a task in ``state``; never empty."""
    if call.name == "expire":
        return [Successor("ok", state if state.status in (ABSENT, GONE) else state._replace(expired=True))]
    if state.status in (ABSENT, GONE):
        return _absent(state, call)
    known = _live(state, call) if state.status in LIVE else _terminal(state, call)
    if not state.expired:
        return known
    # Until its absence was seen, an expired task may be treated as still there or as gone, by each
    # call anew; the label is about the first difference a caller can see.
    requirement = "store.ttl.mutate-expired"
    gone = state._replace(status=GONE, pending=frozenset(), payload=NO_PAYLOAD)
    as_there = [item._replace(choice=item.choice or (requirement, "as still there"), warn=None) for item in known]
    as_gone = [
        item._replace(state=after, choice=(requirement, "as gone"))
        for item in _absent(state, call)
        for after in (state, gone)
    ]
    return as_there + as_gone


def classify(state: TaskState, call: Call) -> str:
    """Which row of the table a call is in, such as ``resolve-some``: it decides who is to blame."""
    if call.name not in ("set", "resolve"):
        return call.name
    keys = {key for key, _ in call.entries}
    if not keys:
        return f"{call.name}-empty"
    pending = {key for key, _ in state.pending}
    if call.name == "set":
        if keys & pending:
            return "set-pending"
        return "set-answered" if keys & state.answered else "set-new"
    matched = keys & pending
    if matched and call.may_raise and state.status in LIVE:
        return "resolve-raising"
    if not matched:
        return "resolve-answered" if keys <= state.answered else "resolve-unknown"
    if keys - pending:
        return "resolve-mixed-answered" if keys - pending <= state.answered else "resolve-mixed"
    return "resolve-all" if state.status in TERMINAL or matched == pending else "resolve-some"
