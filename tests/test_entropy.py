"""Guessable ids are found, others are not accused, both from generators that people use."""

from __future__ import annotations

import base64
import random
import string
import uuid
from collections.abc import Callable, Iterator

import pytest

from mcptasks.conformance.engine.entropy import SMALLEST_SAMPLE, weakness

Maker = Callable[[random.Random, float, int], str]
"""Makes an id from a source of bits, the time in milliseconds, and the number of ids before."""

LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def in_base(number: int, alphabet: str, width: int = 1) -> str:
    out = ""
    while number:
        number, digit = divmod(number, len(alphabet))
        out = alphabet[digit] + out
    return out.rjust(width, alphabet[0])


def uuid4(bits: random.Random) -> str:
    return str(uuid.UUID(int=bits.getrandbits(128), version=4))


def uuid7(bits: random.Random, ms: float, head: int) -> str:
    return str(uuid.UUID(int=int(ms) << 80 | 7 << 76 | head << 64 | 2 << 62 | bits.getrandbits(62)))


def uuid1(ms: float) -> str:
    ticks = f"{int(ms * 1e4) + 0x01B21DD213814000:016x}"
    return f"{ticks[8:]}-{ticks[4:8]}-1{ticks[1:4]}-9abc-00163e5e6c00"


LAWFUL: dict[str, Maker] = {
    "uuid 4": lambda bits, ms, count: uuid4(bits),
    "uuid 7": lambda bits, ms, count: uuid7(bits, ms, bits.getrandbits(12)),
    "uuid 7 with a counter": lambda bits, ms, count: uuid7(bits, ms, count),
    "ulid": lambda bits, ms, count: in_base(int(ms) << 80 | bits.getrandbits(80), CROCKFORD, 26),
    "ksuid": lambda bits, ms, count: in_base(int(ms / 1000) << 128 | bits.getrandbits(128), LETTERS, 27),
    "nanoid": lambda bits, ms, count: "".join(bits.choice(LETTERS + "-_") for _ in range(21)),
    "64 bits in hexadecimal": lambda bits, ms, count: f"{bits.getrandbits(64):016x}",
    "64 bits in base 64": lambda bits, ms, count: base64.urlsafe_b64encode(bits.randbytes(8)).decode().rstrip("="),
    "64 bits in decimal": lambda bits, ms, count: str(bits.getrandbits(64)),
    "64 bits in base 62": lambda bits, ms, count: in_base(bits.getrandbits(64), LETTERS),
    "80 bits in base 32": lambda bits, ms, count: base64.b32encode(bits.randbytes(10)).decode().lower(),
    "printable characters": lambda bits, ms, count: "".join(chr(bits.randrange(33, 127)) for _ in range(10)),
    "ideographs": lambda bits, ms, count: "".join(chr(bits.randrange(0x4E00, 0x9FFF)) for _ in range(8)),
    "a counter before a uuid": lambda bits, ms, count: f"task-{count}-{uuid4(bits)}",
    "a counter behind a uuid": lambda bits, ms, count: f"{uuid4(bits)}-{count}",
    "a shard before random bits": lambda bits, ms, count: f"{'abc'[count % 3]}{bits.getrandbits(64):016x}",
}

GUESSABLE: dict[str, Maker] = {
    "a counter": lambda bits, ms, count: str(count),
    "a counter in a long id": lambda bits, ms, count: f"task-7d1f0c523b644e0a-{1000 + count:08d}",
    "a counter in base 62": lambda bits, ms, count: in_base(238_328 + count, LETTERS),
    "a counter as a uuid": lambda bits, ms, count: str(uuid.UUID(int=2**90 + count)),
    "a counter read backwards": lambda bits, ms, count: f"{100_000 + count}"[::-1],
    "milliseconds": lambda bits, ms, count: str(int(ms)),
    "nanoseconds": lambda bits, ms, count: f"{int(ms * 1e6):x}",
    "snowflake": lambda bits, ms, count: str(int(ms - 1.28e12) << 22 | 3 << 12 | count % 4),
    "uuid 1": lambda bits, ms, count: uuid1(ms),
    "object id": lambda bits, ms, count: f"{int(ms / 1000):08x}a1b2c3d4e5{0x1000 + count:06x}",
    "a constant added": lambda bits, ms, count: f"{count * 0x9E3779B97F4A7C15 % 2**64:016x}",
    "32 bits": lambda bits, ms, count: f"{bits.getrandbits(32):08x}",
    "48 bits": lambda bits, ms, count: f"task-{bits.getrandbits(48):012x}",
    "16 bits behind a long head": lambda bits, ms, count: f"3f2504e0-4f89-41d3-9a0c-0305e82c{bits.getrandbits(16):04x}",
    "time and 32 bits": lambda bits, ms, count: f"{int(ms):x}-{bits.getrandbits(32):08x}",
    "16 bits eight times": lambda bits, ms, count: f"{bits.getrandbits(16):04x}" * 8,
    "loaded dice": lambda bits, ms, count: "".join(bits.choice("000000000000000f") for _ in range(32)),
}


def sample(make: Maker, size: int, step_ms: float, seed: int) -> list[str]:
    bits, ms = random.Random(seed), 1_795_000_000_000.0
    out = []
    for count in range(size):
        ms += bits.expovariate(1 / step_ms)
        out.append(make(bits, ms, count))
    return out


def samples(make: Maker, seeds: int) -> Iterator[list[str]]:
    for seed in range(seeds):
        for size in (SMALLEST_SAMPLE, 60):
            for step_ms in (0.5, 2.0, 300.0):
                yield sample(make, size, step_ms, seed)


@pytest.mark.parametrize("name", LAWFUL)
def test_ids_with_enough_random_bits_are_not_accused(name: str) -> None:
    assert [weakness(ids) for ids in samples(LAWFUL[name], 4)] == [None] * 24


@pytest.mark.parametrize("name", GUESSABLE)
def test_guessable_ids_are_found(name: str) -> None:
    assert all(weakness(ids) for ids in samples(GUESSABLE[name], 2))


def test_ids_that_change_a_little_at_a_time_are_found() -> None:
    bits = random.Random(1)
    walking = list(f"{bits.getrandbits(128):032x}")
    ids = []
    for _ in range(60):
        walking[bits.randrange(32)] = bits.choice("0123456789abcdef")
        ids.append("".join(walking))
    assert weakness(ids)


@pytest.mark.parametrize(
    "ids",
    [[], ["1", "2", "3"], ["x"] * 60, [""] * 60, ["\u4efb"] * 60, [str(number) for number in range(19)]],
    ids=["none", "three", "equal", "empty", "equal ideographs", "too few"],
)
def test_any_sample_is_judged_without_an_error(ids: list[str]) -> None:
    weakness(ids)


def test_the_reason_names_what_can_be_seen() -> None:
    assert weakness([f"task-{number}" for number in range(30)]) == "as numbers they count up by 1"
    assert "48 bits at most" in str(weakness(sample(GUESSABLE["48 bits"], 30, 1.0, 0)))
