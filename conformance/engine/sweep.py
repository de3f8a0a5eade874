"""Every payload and key that hurts, once: random sequences would meet some of them too rarely.

The sequences do not depend on the seed.
"""

from __future__ import annotations

from itertools import permutations
from typing import Final

from mcptasks.strategies.operations import (
    Abort,
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    Operation,
    Resolve,
    SetInput,
    Subscribe,
)
from mcptasks.strategies.payloads import KEYS, awkward

__all__ = ["abort_sweep", "payload_sweep"]

_STEPS: Final = (0, 1, 2, 3, 5)
"""Waits of a call after which it is cancelled."""


def payload_sweep(*, input_requests: bool = True, well_formed: bool = False) -> list[list[Operation]]:
    """Sequences that give each awkward value to a store in each role, and each group of keys in one task.

    Then each key of a group is asked and another of it answered.
    """
    out: list[list[Operation]] = []
    for result in awkward("result", well_formed=well_formed):
        out.append([Create("t1"), Complete("t1", result), Get("t1")])
    for error in awkward("error", well_formed=well_formed):
        out.append([Create("t1"), Fail("t1", error), Get("t1")])
    if not input_requests:
        return out
    for request in awkward("request", well_formed=well_formed):
        out.append([Create("t1"), SetInput("t1", {"a": request}), Get("t1")])
    for response in awkward("response", well_formed=well_formed):
        out.append(
            [Subscribe("l1"), Create("t1"), SetInput("t1", {"a": {}}), Resolve("t1", {"a": response}), Get("t1")]
        )
    for group in KEYS:
        asked: list[Operation] = [Create("t1"), SetInput("t1", {key: {"asked": key} for key in group}), Get("t1")]
        for key in group[:-1]:
            asked += [Resolve("t1", {key: {"answered": key}}), Get("t1")]
        out.append(asked)
    for group in KEYS:
        for key, other in permutations(group, 2):
            out.append([Create("t1"), SetInput("t1", {key: {}}), Resolve("t1", {other: {}}), Get("t1")])
    return out


def abort_sweep(*, input_requests: bool = True) -> list[list[Operation]]:
    """Every call cancelled while it runs, in each live state, then read, or made again and read."""
    ask, answer = SetInput("t1", {"a": {"n": 1}}), Resolve("t1", {"a": {"n": 2}})
    ends = (Cancel("t1"), Complete("t1", {"n": 1}), Fail("t1", {"code": 1, "message": "x"}))
    cases: list[tuple[list[Operation], Get | SetInput | Resolve | Cancel | Complete | Fail]] = []
    cases += [([Create("t1")], call) for call in (*ends, Get("t1"))]
    if input_requests:
        cases += [([Create("t1")], ask), ([Create("t1"), ask], answer)]
        cases += [([Create("t1"), ask], call) for call in ends]
    out: list[list[Operation]] = []
    for before, aborted in cases:
        for step in _STEPS:
            begun: list[Operation] = [*before, Abort(aborted, step)]
            out += [[*begun, Get("t1")], [*begun, aborted, Get("t1")]]
    return out
