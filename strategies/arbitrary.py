"""Hypothesis strategies for operations and what is in them.

Simple values come first everywhere, since Hypothesis shrinks towards the first alternative: a
counterexample keeps a strange payload only where the payload matters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import Any, Final, get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mcptasks.strategies.json_values import JSON, MAX_DEPTH, Payload
from mcptasks.strategies.operations import (
    ID_VARIANTS,
    Abort,
    AdvanceClock,
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    ListenerKind,
    Operation,
    Resolve,
    SetInput,
    Subscribe,
    Tamper,
    TamperWhat,
    Unsubscribe,
)
from mcptasks.strategies.payloads import KEYS, NUMBERS, OBJECTS, TEXTS, nested

__all__ = ["KINDS", "json_values", "keys", "operations", "payloads", "sequences", "tasks"]

KINDS: Final = (
    "create",
    "get",
    "complete",
    "fail",
    "cancel",
    "set_input",
    "resolve",
    "advance_clock",
    "subscribe",
    "unsubscribe",
    "abort",
    "tamper",
)
"""Names of all operations that sequences are made of, as in their JSON form: a probe is a whole sequence."""

_TASKS: Final = ("t1", "t2", "t3")
_LISTENERS: Final = ("l1", "l2")
_CLOCK_STEPS: Final = (1, 999, 1_000, 1_001, 60_000, 3_600_000, 86_400_000, -1, -1_000)


_SURROGATES: Final = range(0xD800, 0xE000)
_CODE_POINTS: Final = 0x110000 - len(_SURROGATES)


def _character(number: int) -> str:
    """The characters that UTF-8 can carry, by number; ``0`` is the first and simplest."""
    code = (number + ord("0")) % _CODE_POINTS
    return chr(code if code < _SURROGATES.start else code + len(_SURROGATES))


def _texts(max_size: int) -> SearchStrategy[str]:
    """Any text; not Hypothesis's own, which first takes seconds to find out what characters there are."""
    common = st.integers(0, ord("z") - ord("0"))
    character = st.one_of(common, common, st.integers(0, _CODE_POINTS - 1)).map(_character)
    return st.lists(character, max_size=max_size).map("".join)


def _scalars() -> SearchStrategy[JSON]:
    return st.one_of(
        st.booleans(),
        st.integers(),
        _texts(12),
        st.sampled_from(NUMBERS),
        st.sampled_from(TEXTS),
        st.floats(allow_nan=False, allow_infinity=False),
    )


def json_values() -> SearchStrategy[JSON]:
    """JSON values to :data:`~mcptasks.strategies.json_values.MAX_DEPTH` levels, never null at the top."""
    names = st.one_of(st.sampled_from([key for group in KEYS for key in group]), _texts(6))
    inner: SearchStrategy[JSON] = st.recursive(
        st.none() | _scalars(),
        lambda children: st.lists(children, max_size=3) | st.dictionaries(names, children, max_size=3),
        max_leaves=8,
    )
    return st.one_of(
        _scalars(),
        st.sampled_from(OBJECTS).map(deepcopy),  # whoever gets one may change it
        st.lists(inner, max_size=3),
        st.dictionaries(names, inner, max_size=3),
        st.builds(nested, st.integers(1, MAX_DEPTH), st.none() | st.booleans(), objects=st.booleans()),
    )


def payloads() -> SearchStrategy[Payload]:
    """Payloads of any lawful JSON value; ``true`` is the simplest."""
    return st.one_of(st.just(True), st.integers(0, 9), json_values()).map(Payload)


def keys() -> SearchStrategy[str]:
    """Keys of input requests, ``a`` first; many are easily taken for each other."""
    known = list(dict.fromkeys(key for group in KEYS for key in group))
    return st.one_of(st.sampled_from(known), _texts(8))


def tasks(names: Sequence[str] = _TASKS, *, strangers: bool = True) -> SearchStrategy[str]:
    """Names of tasks.

    Args:
        names: those that creates bind, the simplest first.
        strangers: also names that no create binds, and ids that almost are one of a task.
    """
    if not strangers:
        return st.sampled_from(list(names))
    almost = [f"{name}~{variant}" for name in names for variant in ID_VARIANTS]
    # One flat list, so that shrinking ends at the first name; repeated, because strangers are soon told.
    return st.sampled_from([*list(names) * 12, "nobody", *almost])


def operations(
    kinds: Collection[str] = KINDS,
    *,
    task: SearchStrategy[str] | None = None,
    key: SearchStrategy[str] | None = None,
    payload: SearchStrategy[Payload] | None = None,
) -> SearchStrategy[Operation]:
    """Single operations.

    Args:
        kinds: names of the operations to make, of :data:`KINDS`.
        task: strategy for names of tasks; default :func:`tasks`.
        key: strategy for keys of input requests; default :func:`keys`.
        payload: strategy for results, errors, requests and responses; default :func:`payloads`.

    Raises:
        ValueError: ``kinds`` is empty or names an unknown operation.
    """
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown or not kinds:
        raise ValueError(f"unknown operation {unknown[0]!r}" if unknown else "no operation to make")
    task = tasks() if task is None else task
    key = keys() if key is None else key
    payload = payloads() if payload is None else payload
    entries = st.dictionaries(key, payload, max_size=3)
    listener = st.sampled_from(_LISTENERS)
    calls: dict[str, SearchStrategy[Any]] = {
        "get": st.builds(Get, task),
        "complete": st.builds(Complete, task, payload),
        "fail": st.builds(Fail, task, payload),
        "cancel": st.builds(Cancel, task),
        "set_input": st.builds(SetInput, task, entries),
        "resolve": st.builds(Resolve, task, entries),
    }
    makers: dict[str, SearchStrategy[Any]] = {
        **calls,
        "create": st.builds(Create, st.sampled_from(_TASKS)),
        "advance_clock": st.builds(AdvanceClock, st.sampled_from(_CLOCK_STEPS)),
        "subscribe": st.builds(Subscribe, listener, st.sampled_from(get_args(ListenerKind))),
        "unsubscribe": st.builds(Unsubscribe, listener),
        "abort": st.builds(Abort, st.one_of(*calls.values()), st.integers(0, 4)),
        "tamper": st.builds(Tamper, task, st.sampled_from(get_args(TamperWhat))),
    }
    return st.one_of(*(makers[name] for name in KINDS if name in kinds))


def _numbered(made: Sequence[Operation]) -> tuple[Operation, ...]:
    """A create in front, and every create with a name of its own: ``t1``, ``t2``, …"""
    numbered: list[Operation] = [Create("t1")]
    created = 1
    for operation in made:
        if isinstance(operation, Create):
            created += 1
            operation = Create(f"t{created}")
        numbered.append(operation)
    return tuple(numbered)


def sequences(
    kinds: Collection[str] = KINDS,
    *,
    max_size: int = 12,
    operation: SearchStrategy[Operation] | None = None,
) -> SearchStrategy[tuple[Operation, ...]]:
    """Sequences that begin with a create and bind ``t1``, ``t2``, … in order.

    Args:
        kinds: as in :func:`operations`.
        max_size: operations after the first create.
        operation: strategy for single operations; default ``operations(kinds)``.

    Raises:
        ValueError: as :func:`operations`.
    """
    return st.lists(operations(kinds) if operation is None else operation, max_size=max_size).map(_numbered)
