"""Where a run is, in memory that another process can read: what was under way when a target died.

The child that drives a target counts every call here; the parent sees which call hangs, and after a
death which sequence was running.  A sequence that cannot be made again from numbers (a candidate of
the shrinker) is written out in full.
"""

from __future__ import annotations

import json
import mmap
import os
from enum import IntEnum
from pathlib import Path
from typing import Final

from mcptasks.conformance.wire.allowance import Words
from mcptasks.strategies.json_values import JSON

__all__ = ["Beat", "Position", "Stage", "Words", "counters", "seen", "tick"]

_SLOTS: Final = 8
_HEAD: Final = _SLOTS * 8
_SIZE: Final = _HEAD + 4 * 1024 * 1024

CALLS, PHASE, SEQUENCE, STARTED, LENGTH, INVESTIGATING, STAGE, TICKS = range(8)


class Stage(IntEnum):
    """What a child is doing beside calling the store's methods."""

    RUNNING = 0
    IMPORTING = 1
    OPENING = 2
    CLOSING = 3
    OWN = 4
    """Work of the suite's own that may take long."""


def counters() -> Words:
    """Counters of nobody but the caller, for runs that no other process watches."""
    return [0] * _SLOTS


def tick(words: Words) -> None:
    """Note that the suite itself is at work, or waits, and no call of the target is under way."""
    words[TICKS] += 1


def seen(words: Words) -> tuple[int, int]:
    """What changes as long as a run gets on: calls and ticks."""
    return words[CALLS], words[TICKS]


class Position:
    """What the child was doing."""

    __slots__ = ("calls", "explicit", "in_sequence", "investigating", "phase", "sequence", "stage")

    def __init__(self, beat: Beat) -> None:
        words = beat.words
        self.calls: int = words[CALLS]
        self.phase: int = words[PHASE]
        self.sequence: int = words[SEQUENCE]
        self.in_sequence: int = words[CALLS] - words[STARTED]
        """Calls made in this sequence, the one under way included."""
        self.investigating: bool = bool(words[INVESTIGATING])
        self.stage = Stage(words[STAGE])
        self.explicit: dict[str, JSON] | None = beat.explicit()


def _hide(file: os.stat_result) -> None:
    """Put another file behind the descriptor that the mapping keeps: a target may write to any it finds."""
    empty = os.open(os.devnull, os.O_RDONLY)
    for number in range(3, 256):
        try:
            found = os.fstat(number)
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (file.st_dev, file.st_ino):
            os.dup2(empty, number, inheritable=False)
    os.close(empty)


class Beat:
    """A few counters and one text in a file that both processes map.

    ``words[0]`` counts calls; the interpreter increments it at every call.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if create:
            path.write_bytes(b"\0" * _SIZE)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SIZE)
            if not create:
                _hide(os.fstat(file.fileno()))
        self.words = memoryview(self._map)[:_HEAD].cast("q")

    def phase(self, number: int) -> None:
        """A phase of the campaign begins."""
        self.words[PHASE] = number
        self.words[LENGTH] = 0

    def sequence(self, number: int) -> None:
        """A sequence of the phase begins."""
        self.words[SEQUENCE] = number
        self.words[STARTED] = self.words[CALLS]

    def spell(self, value: dict[str, JSON] | None) -> None:
        """Write out the sequence that runs from here on, or that it can be made from its number again."""
        if value is None:
            self.words[LENGTH] = 0
            return
        text = json.dumps(value).encode()
        if len(text) > _SIZE - _HEAD:
            self.words[LENGTH] = 0
            return
        self._map[_HEAD : _HEAD + len(text)] = text
        self.words[LENGTH] = len(text)
        self.words[STARTED] = self.words[CALLS]

    def stage(self, stage: Stage) -> None:
        """What is done from here on."""
        self.words[STAGE] = stage

    def seen(self) -> tuple[int, int, int]:
        """What changes as long as the child gets on: calls, ticks and the stage."""
        return *seen(self.words), self.words[STAGE]

    def tick(self) -> None:
        """See :func:`tick`."""
        tick(self.words)

    def investigating(self, on: bool) -> None:
        """Whether a breach is being confirmed and shrunk."""
        self.words[INVESTIGATING] = int(on)

    def explicit(self) -> dict[str, JSON] | None:
        """The sequence written out, if one is."""
        length = self.words[LENGTH]
        if not 0 < length <= _SIZE - _HEAD:
            return None
        try:
            value = json.loads(self._map[_HEAD : _HEAD + length])
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    def close(self) -> None:
        """Unmap the file."""
        self.words.release()
        self._map.close()
