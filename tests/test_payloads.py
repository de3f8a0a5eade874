"""Payload pools are deterministic, lawful, mostly small, and give what hurts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import unicodedata
from itertools import combinations

import pytest

from mcptasks.strategies.json_values import MAX_BYTES, Payload
from mcptasks.strategies.payloads import KEYS, NUMBERS, OBJECTS, TEXTS, PayloadPool, nested


def draw(seed: int, count: int, *, well_formed: bool = False) -> list[Payload]:
    pool = PayloadPool(random.Random(seed), well_formed=well_formed)
    return [
        payload
        for _ in range(count // 4)
        for payload in (pool.results(), pool.errors(), pool.request_bodies(), pool.responses())
    ]


def test_equal_seeds_give_equal_texts() -> None:
    assert [payload.text for payload in draw(5, 2000)] == [payload.text for payload in draw(5, 2000)]
    assert draw(5, 200) != draw(6, 200)


def test_texts_do_not_depend_on_the_process() -> None:
    program = (
        "import random, hashlib; from mcptasks.strategies.payloads import PayloadPool;"
        "p = PayloadPool(random.Random(3));"
        "print(hashlib.sha256(''.join(p.results().text + p.keys(2)[1] for _ in range(500)).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, text=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_the_generator_loads_no_hypothesis() -> None:
    program = "import sys, mcptasks.strategies.payloads; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_most_are_small_and_none_is_null_or_too_long() -> None:
    payloads = draw(1, 8000)
    sizes = sorted(len(payload.text.encode()) for payload in payloads)
    assert sizes[len(sizes) * 9 // 10] < 400
    assert sizes[-1] > 64 * 1024
    assert sizes[-1] <= MAX_BYTES
    assert all(payload.value is not None for payload in payloads if len(payload.text) < 10)


def test_a_mebibyte_comes_now_and_then() -> None:
    pool = PayloadPool(random.Random(0))
    assert 1 <= sum(len(pool.results().text) > 1024 * 1024 for _ in range(20_000)) <= 12


def test_what_hurts_is_there() -> None:
    texts = {payload.text for payload in draw(2, 20_000)}
    for value in (*NUMBERS, *TEXTS, *OBJECTS):
        assert Payload(value).text in texts
    assert {2**53 - 1, 2**53 + 1, 2**63, 2**64, 10**30, 0.1 + 0.2, 5e-324} <= set(NUMBERS)
    assert Payload(nested(64, "leaf")).text in texts


def test_the_deepest_payload_is_at_the_limit() -> None:
    Payload(nested(64, True))
    with pytest.raises(ValueError, match="deeper than 64"):
        Payload(nested(65, True))


def test_well_formed_ones_have_the_shape_of_their_role() -> None:
    pool = PayloadPool(random.Random(4), well_formed=True)
    for _ in range(3000):
        assert isinstance(pool.results().value["content"], list)
        error = pool.errors().value
        assert isinstance(error["code"], int)
        assert isinstance(error["message"], str)
        assert pool.request_bodies().value["method"] in ("elicitation/create", "sampling/createMessage")
        assert {"action", "role"} & set(pool.responses().value)


def test_typical_payloads_of_a_role_differ() -> None:
    from mcptasks.strategies.payloads import _typical

    assert len({payload.text for payload in _typical("result")}) == 64


def test_keys() -> None:
    pool = PayloadPool(random.Random(7))
    for count in range(8):
        for _ in range(200):
            found = pool.keys(count)
            assert len(set(found)) == len(found) == count
    for group in KEYS:
        assert len(set(group)) == len(group)
        json.dumps(group, ensure_ascii=False).encode()
    pairs = [pair for group in KEYS for pair in combinations(group, 2)]
    assert any(a.casefold() == b.casefold() for a, b in pairs)
    assert any(unicodedata.normalize("NFC", a) == unicodedata.normalize("NFC", b) for a, b in pairs)
    assert any(b.startswith(a) for a, b in pairs)
    assert any(a.strip() == b.strip() for a, b in pairs)
