"""Payloads and keys that hurt, from a seeded plain generator.

Most of what a pool gives is small and typical, since speed finds more faults than size; the rest is
what stores lose: big integers, floats at the edge of fidelity, null beside absent, empty
containers, deep nesting, astral and combining text, NUL, objects whose keys are easily taken for
each other, and now and then something very long.

The generator needs no Hypothesis, so that a run that does not use it does not load it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, Literal

from mcptasks.strategies.json_values import JSON, MAX_DEPTH, Payload

__all__ = ["KEYS", "NUMBERS", "OBJECTS", "TEXTS", "PayloadPool", "Role", "awkward", "nested"]

Role = Literal["result", "error", "request", "response"]

KEYS: Final[tuple[tuple[str, ...], ...]] = (
    ("a", "b", "c", "d"),
    ("a", "A", "b", "B"),
    ("k", "k1", "k ", " k", "k10"),
    ("\u00e9", "e\u0301"),
    ("", " ", "  "),
    ("x" * 300, "x" * 301, "x" * 299 + "y"),
    ("a.b", "a", "b", "a/b", "a:b", "a[b]"),
    ("constructor", "__proto__", "toString", "hasOwnProperty"),
    ("1", "01", "1.0", "10"),
    ("null", "None", "true", "0"),
    ("\u00df", "ss", "\u1e9e"),
    ("key", "key\u0000", "key\n"),
    ("\U0001d4a6", "K", "\u212a"),
)
"""Groups of keys that a store may take for each other: by case, normalisation, prefix, blanks, escaping or type."""

NUMBERS: Final[tuple[JSON, ...]] = (
    0,
    1,
    -1,
    2**53 - 1,
    2**53 + 1,
    -(2**53) - 1,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    0.5,
    0.1 + 0.2,
    1.0,
    -0.0,
    1e16 + 1.0,
    5e-324,
    1.7976931348623157e308,
)
"""Numbers that lose digits, sign or kind on the way through other number types."""

TEXTS: Final[tuple[str, ...]] = (
    "",
    " ",
    "0",
    "null",
    "true",
    "NaN",
    "a\u0000b",
    "line\r\nline\u2028line",
    "'; DROP TABLE tasks; --",
    '\\u0041 \\" ${x} %s {0}',
    "\u00e9",
    "e\u0301",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U00010000\U0010ffff",
    "\u202e\u05d0\u05d1\u0627\u0628",
    "a\u0300\u0301\u0302\u0303\u0304",
    "\ufeffbom",
    "\ufffe\uffff\ue000",
    "2026-07-28T00:00:00Z",
    " surrounded by blanks ",
    "<script>alert(1)</script>]]>",
)
"""Texts that break in encodings, escapers, normalisers and guessers of types."""

OBJECTS: Final[tuple[JSON, ...]] = (
    {},
    [],
    {"a": None},
    {"a": {}},
    {"a": []},
    [None],
    [[]],
    [{}],
    {"a": {"b": None, "c": []}},
    {"k": 1, "K": 2},
    {"\u00e9": 1, "e\u0301": 2},
    {"k": 1, "k1": 2, "k ": 3, " k": 4},
    {"": 0},
    {"1": "one", "01": "another", "10": "ten", "2": "two"},
    {"__proto__": {"a": 1}, "constructor": None},
    {"a.b": 1, "a": {"b": 2}},
    {"$ref": "#/a", "@type": "x", "_id": 1},
    {"z": 1, "a": 2, "m": 3},
    {"_meta": {"a": 1}},
    {"isError": True},
    {"code": 1, "message": "m", "data": {"a": 1}},
    [1, True, "1", 1.5, None, False, 0, "", "true"],
    [[1, 2], [1, 2], [2, 1]],
)
"""Containers that lose members, order or emptiness."""

_TYPICAL: Final = 64
"""How many small typical payloads there are for each role; all differ, so that a mixed-up one is seen."""

_KIB: Final = 1024


def nested(depth: int, leaf: JSON, *, objects: bool = False) -> JSON:
    """``leaf`` inside ``depth`` lists or one-member objects."""
    value = leaf
    for _ in range(depth):
        value = {"n": value} if objects else [value]
    return value


def _shape(role: Role, number: int, text: str, extra: JSON = None) -> JSON:
    """A well-formed value for a role that carries ``text``, and ``extra`` where the schema takes any JSON."""
    if role == "result":
        result: dict[str, JSON] = {"content": [{"type": "text", "text": text}]}
        if number % 4 == 1:
            result["isError"] = number % 8 == 1
        if extra is not None or number % 4 == 2:
            result["structuredContent"] = {"value": number if extra is None else extra}
        return result
    if role == "error":
        error: dict[str, JSON] = {"code": (-32603, -32602, -32000, -1)[number % 4], "message": text}
        if extra is not None or number % 4 == 2:
            error["data"] = {"number": number} if extra is None else extra
        return error
    if role == "request":
        if number % 4 == 3:
            message = {"role": "user", "content": {"type": "text", "text": text}}
            return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 1 + number}}
        schema: dict[str, JSON] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        return {"method": "elicitation/create", "params": {"mode": "form", "message": text, "requestedSchema": schema}}
    if number % 4 == 3:
        return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m"}
    if number % 4 == 2:
        return {"action": ("decline", "cancel")[number % 8 == 2]}
    return {"action": "accept", "content": {"name": text}}


@cache
def _typical(role: Role) -> tuple[Payload, ...]:
    return tuple(Payload(_shape(role, number, f"{role} {number}")) for number in range(_TYPICAL))


@cache
def _bare() -> tuple[Payload, ...]:
    """Values that are no protocol shape at all: a store keeps any JSON."""
    return tuple(Payload(value) for value in (True, False, *NUMBERS, *TEXTS, *OBJECTS))


@cache
def _shaped(role: Role) -> tuple[Payload, ...]:
    """Protocol shapes with a text, number or container that hurts inside."""
    inside = [_shape(role, index, text) for index, text in enumerate(TEXTS)]
    if role in ("result", "error"):
        inside += [_shape(role, index, "x", value) for index, value in enumerate((*NUMBERS, *OBJECTS))]
    return tuple(Payload(value) for value in inside)


@cache
def _large(role: Role, well_formed: bool) -> tuple[Payload, ...]:
    """A few kibibytes, or as deep as a payload may be."""
    text = "0123456789abcdef" * 256
    values = [_shape(role, 0, text), _shape(role, 1, "\U0001f600" * _KIB)]
    if role in ("result", "error"):
        # The shape itself takes two or three of the levels.
        values.append(_shape(role, 0, "deep", nested(MAX_DEPTH - 4, "leaf")))
        values.append(_shape(role, 0, "wide", {f"k{index}": index for index in range(500)}))
    if not well_formed:
        values += [nested(MAX_DEPTH, "leaf"), nested(MAX_DEPTH, None, objects=True), list(range(1000))]
    return tuple(Payload(value) for value in values)


@cache
def _long(role: Role) -> tuple[Payload, ...]:
    """Just over what a 16-bit length counts."""
    return tuple(Payload(_shape(role, 0, letter * (64 * _KIB + 1))) for letter in ("x", "\u00e9"))


@cache
def _huge() -> tuple[Payload, ...]:
    """Results of one mebibyte."""
    return tuple(Payload(_shape("result", 0, letter * (_KIB * _KIB))) for letter in ("m", "n"))


def awkward(role: Role, *, well_formed: bool = False) -> tuple[Payload, ...]:
    """Every value of the pool that hurts, once each, for a role.

    Args:
        role: what the value is for.
        well_formed: only values that are valid for the role by the protocol's schema.
    """
    shaped = (*_shaped(role), *_large(role, well_formed), *_long(role))
    if role == "result":
        shaped = (*shaped, _huge()[0])
    return shaped if well_formed else (*shaped, *_bare())


class PayloadPool:
    """Payloads and keys for one run; equal seeds give equal ones in the same order.

    Most payloads are shared objects, made once in the process, so that giving one costs next to nothing.
    """

    def __init__(self, random: random.Random, *, well_formed: bool = False) -> None:
        """Draw from ``random``.

        Args:
            random: the run's source of randomness; the pool keeps no state of its own.
            well_formed: give only values that are valid for their role by the protocol's schema, as a server needs.
        """
        self._random = random
        self._well_formed = well_formed

    def results(self) -> Payload:
        """What a task completes with: mostly a ``CallToolResult``; about once in 5,000 it is 1 MiB long."""
        if self._random.random() < 0.0002:
            return self._random.choice(_huge())
        return self._draw("result")

    def errors(self) -> Payload:
        """What a task fails with: mostly a JSON-RPC error object."""
        return self._draw("error")

    def request_bodies(self) -> Payload:
        """An input request: mostly ``method`` and ``params`` of an elicitation or a sampling request."""
        return self._draw("request")

    def responses(self) -> Payload:
        """An answer to an input request."""
        return self._draw("response")

    def keys(self, count: int = 1) -> tuple[str, ...]:
        """``count`` different keys of input requests; every second time they are easily taken for each other."""
        random = self._random
        group = KEYS[0] if random.random() < 0.5 else random.choice(KEYS)
        if count <= len(group):
            return tuple(random.sample(group, count))
        return (*group, *(f"key{index}" for index in range(count - len(group))))

    def _draw(self, role: Role) -> Payload:
        random = self._random
        dice = random.random()
        if dice < 0.75:
            return random.choice(_typical(role))
        if dice < 0.85:
            return random.choice(_shaped(role))
        if dice < 0.995:
            if self._well_formed:
                return random.choice(_typical(role) if dice < 0.93 else _shaped(role))
            return random.choice(_bare()) if dice < 0.93 else self._composed()
        return random.choice(_large(role, self._well_formed) if dice < 0.999 else _long(role))

    def _composed(self) -> Payload:
        """A small random structure, never null."""
        value = self._value(3)
        return Payload({"value": value} if value is None else value)

    def _value(self, depth: int) -> JSON:
        random = self._random
        if depth == 0 or random.random() < 0.3:
            kinds: Sequence[Callable[[], JSON]] = (
                lambda: random.choice(NUMBERS),
                lambda: random.choice(TEXTS),
                lambda: random.choice((None, True, False)),
                lambda: random.randrange(-1000, 1000),
            )
            return random.choice(kinds)()
        if random.random() < 0.5:
            return [self._value(depth - 1) for _ in range(random.randrange(4))]
        group = random.choice(KEYS)
        return {key: self._value(depth - 1) for key in random.sample(group, random.randrange(min(len(group), 3) + 1))}
