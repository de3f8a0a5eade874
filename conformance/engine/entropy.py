"""How well ids can be guessed, judged from a sample, with a stated probability of being wrong.

The hypothesis under test is that ids are hard to guess: of the characters of an id, enough for ``RANDOM_BITS`` bits
are drawn independently of each other and of other ids, each uniformly from an alphabet of 10 to 95 characters; what
else an id holds (a kind, a time, a counter, a shard) is free.  Every way to be accused has, for such ids, a
probability of at most ``ERROR``, so that lawful ids are accused less than once in ten million samples.

The ways, in the order in which they are tried:

* *steps*: read as numbers, ids lie close behind the one before, or the distances repeat.  Counters, clocks, and
  generators that add a constant.
* *room*: the characters that change could not hold ``RANDOM_BITS`` bits if each of them were random.
* *visible entropy*: the entropy of each place, added up, is smaller than that of random characters can be by chance.
  The bound is McDiarmid's inequality for the plug-in estimate (Antos and Kontoyiannis, 2001).
* *likeness*: two ids agree in more places than independent ids do (a low Hamming distance): one value spelled several
  times, or the last id with a few characters changed.

Before the last three, places that follow from what came before are left out: those that never change, copies of other
places, a head that only grows (time-ordered ids), and places that repeat with a short period.

No sample can show that ids are hard to guess: a hash of a counter looks random.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

__all__ = ["ERROR", "RANDOM_BITS", "SMALLEST_SAMPLE", "weakness"]

RANDOM_BITS: Final = 60
"""What an id must hold; a little less than the 62 random bits of a UUID version 7 with a counter (RFC 9562)."""
ERROR: Final = 1e-8
"""Probability, for each of the four tests, that it accuses ids that hold that much."""
SMALLEST_SAMPLE: Final = 20

_ALPHABETS: Final = (10, 16, 32, 36, 58, 62, 64, 85, 95)
_CLOSE: Final = 2**32
"""Ids that are less than this apart, as numbers, can be tried out one by one."""
_LONGEST_PERIOD: Final = 16
_FIRST_LETTERS: Final = ("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789abcdefghijklmnopqrstuvwxyz")

Column = tuple[str, ...]


def weakness(ids: Sequence[str]) -> str | None:
    """Why the ids, in the order in which they were given out, can be guessed; ``None`` if nothing speaks for it.

    Args:
        ids: distinct task ids of one target; fewer than ``SMALLEST_SAMPLE`` are not judged.
    """
    if len(ids) < SMALLEST_SAMPLE:
        return None
    spelled = [_ascii(text) for text in ids]
    stepped = _steps(spelled)
    if stepped is not None:
        return stepped
    places = _free(spelled)
    room = sum(math.log2(_alphabet(place)) for place in places)
    if room < RANDOM_BITS:
        return f"{_count(places)} could hold {room:.0f} bits at most"
    visible = sum(map(_entropy, places))
    if visible < _least_visible(len(ids)):
        return f"{len(ids)} of them show about {visible:.0f} bits of entropy, {_count(places)}"
    return _likeness(spelled, places)


def _count(places: Sequence[Column]) -> str:
    return "their one character that changes" if len(places) == 1 else f"their {len(places)} characters that change"


def _ascii(text: str) -> str:
    """The id with every character outside ASCII spelled as six hexadecimal digits, so that alphabets stay small."""
    return text if text.isascii() else "".join(char if char.isascii() else f"{ord(char):06x}" for char in text)


# --- steps -------------------------------------------------------------------------------------


def _steps(ids: Sequence[str]) -> str | None:
    for numbers in _readings(ids):
        deltas = [after - before for before, after in zip(numbers, numbers[1:], strict=False)]
        distinct = sorted(set(deltas))
        if len(distinct) <= 3:
            return f"as numbers they count up by {', '.join(map(str, distinct))}"
        close = sum(0 < delta < _CLOSE for delta in deltas)
        if 4 * close >= 3 * len(deltas):
            median = sorted(deltas)[len(deltas) // 2]
            return f"as numbers they grow by no more than {median} in half of all steps"
        if 2 * len(distinct) <= len(deltas):
            return f"as numbers they are only {len(distinct)} different distances from the one before"
    return None


def _readings(ids: Sequence[str]) -> Iterator[list[int]]:
    """The part of the ids that changes, as numbers in every way in which it can be read."""
    head, tail = _shared(ids), _shared([text[::-1] for text in ids])
    shortest = min(map(len, ids))
    tail = min(tail, shortest - head)
    parts = ["".join(filter(str.isalnum, text[head : len(text) - tail])) for text in ids]
    # What changes may end, or begin, in a number that was cut where the shared characters end: read it whole.
    yield from _numbers(parts)
    whole = ["".join(filter(str.isalnum, text)) for text in ids]
    if whole != parts:
        yield from _numbers(whole)
    yield from _numbers([part[::-1] for part in parts])
    counters = [text[len(text.rstrip("0123456789")) :] for text in ids]
    heads = [text.rstrip("0123456789") for text in ids]
    if all(counters) and len(set(heads)) == 1:
        yield [int(text[:300]) for text in counters]


def _shared(ids: Sequence[str]) -> int:
    """How many characters all of them begin with."""
    low, high = min(ids), max(ids)
    return next((place for place, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))


def _numbers(parts: Sequence[str]) -> Iterator[list[int]]:
    if not all(parts) or not all(map(str.isascii, parts)) or max(map(len, parts)) > 300:
        return
    letters = set("".join(parts))
    if letters <= set("0123456789"):
        yield [int(part) for part in parts]
    if letters <= set("0123456789abcdefABCDEF"):
        yield [int(part, 16) for part in parts]
        return
    if letters <= set(_FIRST_LETTERS[0]) or letters <= set(_FIRST_LETTERS[1]):
        yield [int(part, 36) for part in parts]
        return
    for order in (sorted(letters), sorted(letters, key=str.swapcase)):
        rank = {letter: value for value, letter in enumerate(order)}
        yield [_in_base(part, rank) for part in parts]


def _in_base(part: str, rank: dict[str, int]) -> int:
    number = 0
    for letter in part:
        number = number * len(rank) + rank[letter]
    return number


# --- places ------------------------------------------------------------------------------------


def _free(ids: Sequence[str]) -> list[Column]:
    """The places of the ids that may be random."""
    longest = max(map(len, ids))
    columns = list(zip(*(text.ljust(longest, "\0") for text in ids), strict=True))
    patterns: set[tuple[int, ...]] = set()
    out: list[Column] = []
    for column in columns[_growing(columns) :]:
        pattern, letters = _pattern(column), len(set(column))
        if letters == 1 or pattern in patterns or _periodic(column):
            continue
        if column in out and _unlikely(column, len(column)):
            continue
        # A copy under other names shows only where characters come again.
        if _unlikely(column, len(column) - letters):
            patterns.add(pattern)
        out.append(column)
    return out


def _pattern(column: Column) -> tuple[int, ...]:
    """The column up to renaming its characters."""
    numbers: dict[str, int] = {}
    return tuple(numbers.setdefault(letter, len(numbers)) for letter in column)


def _growing(columns: Sequence[Column]) -> int:
    """How many leading places are a number that only grows.

    A place belongs to it if it never falls where all places before stay; and if there are so many of these that it
    cannot be by chance.  Where times differ already nothing is known of the next place, which then counts as free.
    """
    pairs = list(range(len(columns[0]) - 1)) if columns else []
    for place, column in enumerate(columns):
        if any(column[pair] > column[pair + 1] for pair in pairs):
            return place
        if len(set(column)) > 1:
            same = sum((count / len(column)) ** 2 for count in Counter(column).values())
            if ((1 + same) / 2) ** len(pairs) > ERROR / 100:
                return place
        pairs = [pair for pair in pairs if column[pair] == column[pair + 1]]
    return len(columns)


def _periodic(column: Column) -> bool:
    length = len(column)
    return any(
        column[period:] == column[:-period] and _unlikely(column, length - period)
        for period in range(2, min(_LONGEST_PERIOD, length // 2) + 1)
    )


def _unlikely(column: Column, characters: int) -> bool:
    """Whether so many characters of a random column cannot well be what was foretold."""
    return -characters * math.log(len(set(column))) < math.log(ERROR / 1e4)


def _alphabet(column: Column) -> int:
    """The size of the smallest usual alphabet that has the characters."""
    letters = set(column)
    for size, alphabet in (
        (10, "0123456789"),
        (16, "0123456789abcdef"),
        (16, "0123456789ABCDEF"),
        (36, _FIRST_LETTERS[0]),
        (36, _FIRST_LETTERS[1]),
    ):
        if letters <= set(alphabet):
            return size
    return 64 if all(letter.isalnum() or letter in "-_+/=\0" for letter in letters) else 95


# --- entropy -----------------------------------------------------------------------------------


def _entropy(column: Column) -> float:
    total = len(column)
    return -sum(count / total * math.log2(count / total) for count in Counter(column).values())


@lru_cache(maxsize=16)
def _least_visible(sample: int) -> float:
    """What ``RANDOM_BITS`` bits of random characters show at least, but for a probability of ``ERROR``."""
    # Changing one character of one id changes the sum by at most this.
    change = (math.log2(sample) + 1 / math.log(2)) / sample
    least = math.inf
    for size in _ALPHABETS:
        places = RANDOM_BITS / math.log2(size)
        slack = change * math.sqrt(sample * places * math.log(1 / ERROR) / 2)
        least = min(least, places * _expected(sample, size) - slack)
    return least


def _expected(sample: int, size: int) -> float:
    """The mean plug-in entropy, in bits, of ``sample`` characters drawn from ``size``."""
    share, mean = 1 / size, 0.0
    for count in range(2, sample + 1):
        chance = math.comb(sample, count) * share**count * (1 - share) ** (sample - count)
        mean += chance * count * math.log2(count)
    return math.log2(sample) - size * mean / sample


# --- likeness ----------------------------------------------------------------------------------


def _likeness(ids: Sequence[str], places: Sequence[Column]) -> str | None:
    rows = list(zip(*places, strict=True))
    agreeing = max(
        sum(one == other for one, other in zip(rows[first], rows[second], strict=True))
        for first in range(len(rows))
        for second in range(first)
    )
    pairs = len(rows) * (len(rows) - 1) / 2
    if _tail([_coincidence(place) for place in places], agreeing) * pairs < ERROR:
        return f"two of them differ in only {len(places) - agreeing} of the {len(places)} characters that change"
    return None


def _coincidence(column: Column) -> float:
    return sum((count / len(column)) ** 2 for count in Counter(column).values())


def _tail(chances: Sequence[float], least: int) -> float:
    """The probability that at least ``least`` of independent events with these chances happen."""
    exactly = [1.0]
    for chance in chances:
        exactly = [
            (exactly[count] if count < len(exactly) else 0.0) * (1 - chance)
            + (exactly[count - 1] * chance if count else 0)
            for count in range(len(exactly) + 1)
        ]
    return sum(exactly[least:])
