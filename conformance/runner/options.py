"""From what a user wrote, on any of the surfaces, to the options of a run; every mistake is one clear line."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal

from mcptasks.conformance.baseline import Baseline, read_baseline
from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.outcomes import JudgementOptions
from mcptasks.conformance.runner.account import DEFAULT_MEMORY, RunOptions, selected

__all__ = ["LEVELS", "read_memory", "read_options"]

LEVELS: Final = ("must", "should", "may")

_MEMORY: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LEAST_MEMORY: Final = 128 * 2**20


def read_options(
    *,
    budget: str | int | None = None,
    seed: int = 0,
    select: Sequence[str] = (),
    level: str = "may",
    baseline: Path | None = None,
    timeout: float = 5.0,
    settle: float = 2.0,
    judgement: JudgementOptions = JudgementOptions(),  # noqa: B008  # frozen
    fail_fast: bool = False,
    memory_limit: int = DEFAULT_MEMORY,
    named: Callable[[str], str] = str,
    kind: Literal["store", "server"] = "store",
    revisions: Sequence[str] = ("2026-07-28",),
) -> RunOptions:
    """The options of a run.

    Args:
        budget: calls or wall time, as :meth:`Budget.parse` takes it; ``None`` for the default.
        seed: of everything random.
        select: globs over requirement ids; none means all.
        level: ``must``, ``should`` or ``may``.
        baseline: file of expected failures.
        timeout: seconds after which a call counts as never ending.
        settle: seconds to wait for events that are due.
        judgement: what counts.
        fail_fast: stop at the first finding that counts.
        memory_limit: resident bytes above which a target's process is killed.
        named: gives the name of an option as the user knows it, for messages.
        kind: what is checked, since that decides which requirements there are.
        revisions: those that the target may be of.

    Raises:
        UsageError: one of them is wrong, or together they select nothing.
    """
    _positive(named("timeout"), timeout)
    _positive(named("settle"), settle)
    options = RunOptions(
        settings=Settings(
            seed=seed, budget=_budget(budget, named), timeout=float(timeout), settle=float(settle), fail_fast=fail_fast
        ),
        select=_globs(select, named, kind, revisions),
        level=_level(level, named),
        judgement=judgement,
        memory_limit=memory_limit,
    )
    if not any(selected(options, kind, revision) for revision in revisions):
        raise UsageError(f"nothing to check: no requirement on a {kind} that is selected has level {level} or above")
    if baseline is None:
        return options
    return RunOptions(
        settings=options.settings,
        select=options.select,
        level=options.level,
        judgement=judgement,
        baseline=_baseline(baseline),
        memory_limit=memory_limit,
    )


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{name} must be a number of seconds above zero, not {value:g}")


def _budget(value: str | int | None, named: Callable[[str], str]) -> Budget:
    if value is None:
        return Budget()
    try:
        return Budget.parse(str(value))
    except ValueError as error:
        raise UsageError(f"{named('budget')}: {error}") from error


def _level(level: str, named: Callable[[str], str]) -> str:
    if level.lower() not in LEVELS:
        raise UsageError(f"{named('level')} must be one of {', '.join(LEVELS)}, not {level!r}")
    return level.lower()


def _globs(
    select: Sequence[str], named: Callable[[str], str], kind: Literal["store", "server"], revisions: Sequence[str]
) -> tuple[str, ...]:
    if not select:
        return ("*",)
    for glob in select:
        if not any(selected(RunOptions(select=(glob,)), kind, revision) for revision in revisions):
            raise UsageError(f"{named('select')}: no requirement on a store matches {glob!r}{_hint(glob, revisions)}")
    return tuple(select)


def _hint(glob: str, revisions: Sequence[str]) -> str:
    known = [item.id for revision in revisions for item in selected(RunOptions(), revision=revision)]
    # A prefix is what people write first: 'store.cancel' for 'store.cancel.*'.
    if any(name.startswith(f"{glob}.") for name in known):
        return f"; did you mean '{glob}.*'?"
    if any(f".{glob.strip('*.')}." in f".{name}." for name in known):
        return f"; did you mean '*.{glob.strip('*.')}.*'?"
    near = difflib.get_close_matches(glob, known, 1, 0.7)
    return f"; did you mean '{near[0]}'?" if near else "; 'mcptasks requirements list' shows them"


def _baseline(path: Path) -> Baseline:
    return read_baseline(path, load_catalogue().requirements)


def read_memory(text: str) -> int:
    """Bytes from ``512M``, ``2G``, ``1.5GiB`` or a plain number of bytes.

    Raises:
        UsageError: none of these, or too little to run in.
    """
    found = _MEMORY.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--memory-limit: {text!r} is no amount of memory: write 512M or 2G")
    size = int(float(found[1]) * _UNITS[found[2].lower()])
    if size < _LEAST_MEMORY:
        raise UsageError(f"--memory-limit: {text} is too little for a Python process to run in; at least 128M")
    return size
