"""Ids that no task has: made up, or one letter off an id that a task has."""

from __future__ import annotations

from typing import Final

__all__ = ["NO_SUCH", "stranger_id"]

NO_SUCH: Final = "mcptasks-never-created-"
"""How an id begins that was made up."""


def stranger_id(name: str, known: str | None) -> str:
    """The id that a task of this name stands for though nothing created it.

    Args:
        name: such as ``x1``, or ``t1~prefix`` for an id that is nearly the one of ``t1``.
        known: the id of the task before the tilde, if it has one that can be changed.
    """
    variant = name.partition("~")[2]
    if not variant or known is None or not known.isprintable():
        return NO_SUCH + name
    return {
        "prefix": known[:-1],
        "suffix": known + "0",
        "case": known.swapcase(),
        "space": known + " ",
    }.get(variant, known + variant)
