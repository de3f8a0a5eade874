"""How well ids can be guessed, judged from a sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

__all__ = ["weakness"]

_BITS: Final = 64
_CLOCK_DELTAS: Final = 3
"""Distinct numeric differences up to which ids count as counted or clocked."""


def _as_number(text: str) -> int | None:
    compact = text.replace("-", "")
    for base in (10, 16):
        try:
            return int(compact, base)
        except ValueError:
            continue
    return None


def weakness(ids: Sequence[str]) -> str | None:
    """Why the ids, in the order they were given out, look guessable; ``None`` if they do not.

    A heuristic: it sums, over the character positions, the entropy seen there, capped by what the sample
    can show.  Time-ordered ids with enough random bits pass.
    """
    if len(ids) < 20:
        return None
    numbers = [_as_number(text) for text in ids]
    if all(number is not None for number in numbers):
        values = [number for number in numbers if number is not None]
        deltas = {after - before for before, after in zip(values, values[1:], strict=False)}
        if len(deltas) <= _CLOCK_DELTAS:
            return f"they count up by {', '.join(map(str, sorted(deltas)))}"
    tails = [text.rstrip("0123456789") for text in ids]
    digits = [text[len(tail) :] for text, tail in zip(ids, tails, strict=True)]
    if len(set(tails)) == 1 and all(digits):
        steps = {int(after) - int(before) for before, after in zip(digits, digits[1:], strict=False)}
        if len(steps) <= _CLOCK_DELTAS:
            return f"they end in a number that counts up by {', '.join(map(str, sorted(steps)))}"
    bits = 0.0
    for position in range(max(map(len, ids))):
        column = Counter(text[position] if position < len(text) else "" for text in ids)
        total = len(ids)
        entropy = -sum(count / total * math.log2(count / total) for count in column.values())
        # A sample of n shows a little less than the true entropy (Miller and Madow).
        bits += entropy + (len(column) - 1) / (2 * total * math.log(2)) if entropy else 0.0
    if bits < _BITS:
        return f"{len(ids)} of them show about {bits:.0f} bits of entropy"
    return None
