"""Every payload and key that hurts, once: random sequences would meet some of them too rarely.

The sequences do not depend on the seed.
"""

from __future__ import annotations

from itertools import permutations

from mcptasks.strategies.operations import Complete, Create, Fail, Get, Operation, Resolve, SetInput, Subscribe
from mcptasks.strategies.payloads import KEYS, awkward

__all__ = ["payload_sweep"]


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
