"""The ``--mcptasks-…`` options of pytest, and how they, a class's attributes and the ini file come together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mcptasks.conformance.errors import UsageError

if TYPE_CHECKING:
    import pytest

    from mcptasks.conformance.profiles import ProfileName
    from mcptasks.conformance.runner.account import RunOptions

__all__ = ["ClassOptions", "add_options", "given_values", "options_of"]

REVISIONS: Final = ("2026-07-28", "2025-11-25")
DEFAULT_BUDGET: Final = "60k"
"""Calls: some seconds in a test run; ``mcptasks run`` digs deeper."""

_HELP: Final[dict[str, str]] = {
    "budget": f"calls (200k: equal seeds give equal verdicts) or time (8s) for each class; by default {DEFAULT_BUDGET}",
    "seed": "of everything random; by default 0",
    "level": "the weakest requirements to check: must, should or may (default)",
    "select": "globs over requirement ids, separated by commas",
    "baseline": "YAML file of failures that are expected, with reasons",
    "report-dir": "write the report files of each class into a folder in DIR",
    "timeout": "seconds after which a call counts as never ending; by default 5",
    "settle": "seconds to wait for events that are due; by default 2",
    "fail-on": "warn: a warning fails the test",
    "profile": "Hypothesis profile of the state machine: mcptasks-ci (default) or mcptasks-long",
}


def add_options(parser: pytest.Parser) -> None:
    """Add the option group and, under the same names with underscores, the ini options."""
    group = parser.getgroup("mcptasks", "MCP Tasks conformance")
    for name, words in _HELP.items():
        group.addoption(f"--mcptasks-{name}", default=None, metavar=name.upper(), help=words)
        parser.addini(f"mcptasks_{name.replace('-', '_')}", f"{words} (see --mcptasks-{name})", default=None)


@dataclass(frozen=True, slots=True)
class ClassOptions:
    """The options of one test class, checked."""

    run: RunOptions
    profile: ProfileName
    fail_on_warn: bool
    report_dir: Path | None
    adapter: str | None


def given_values(config: pytest.Config) -> dict[str, Any]:
    """What the command line or the ini file says, by option name with underscores."""
    found = {name.replace("-", "_"): _given(config, name.replace("-", "_")) for name in _HELP}
    return {name: value for name, value in found.items() if value is not None}


def _given(config: pytest.Config, name: str, *, line_only: bool = False) -> Any:
    value = config.getoption(f"mcptasks_{name}")
    if value is None and not line_only:
        value = config.getini(f"mcptasks_{name}") or None
    return value


def options_of(cls: type | None, config: pytest.Config) -> ClassOptions:
    """The options of ``cls``: the command line before its attributes before the ini file before the defaults.

    Raises:
        UsageError: one is wrong; the message says where it stands.
    """
    kind = getattr(cls, "mcptasks_kind", "store")
    values: dict[str, Any] = {"budget": DEFAULT_BUDGET if kind == "store" else None, **given_values(config)}
    own_names: set[str] = set()
    for name in (item.replace("-", "_") for item in _HELP):
        own = getattr(cls, name, None)
        if own is not None and _given(config, name, line_only=True) is None:
            values[name] = own
            own_names.add(name)

    def named(name: str) -> str:
        plain = name.replace("-", "_")
        return f"{cls.__name__}.{plain}" if cls is not None and plain in own_names else f"--mcptasks-{name}"

    revision = getattr(cls, "revision", REVISIONS[0])
    if revision not in REVISIONS:
        raise UsageError(f"{cls.__name__ if cls else 'class'}.revision must be one of {', '.join(REVISIONS)}")
    return _checked(values, named, config, getattr(cls, "adapter", None), kind, revision)


def _checked(
    values: dict[str, Any],
    named: Callable[[str], str],
    config: pytest.Config,
    adapter: str | None,
    kind: Any,
    revision: str,
) -> ClassOptions:
    from mcptasks.conformance.outcomes import JudgementOptions
    from mcptasks.conformance.profiles import CI, PROFILES
    from mcptasks.conformance.runner.options import read_options
    from mcptasks.conformance.wire.spec import DEFAULT_REQUESTS

    select = values.get("select", ())
    fail_on = values.get("fail_on", "fail")
    if fail_on not in ("fail", "warn"):
        raise UsageError(f"{named('fail-on')} must be fail or warn, not {fail_on!r}")
    profile = values.get("profile", CI)
    if profile not in PROFILES:
        raise UsageError(f"{named('profile')} must be one of {', '.join(PROFILES)}, not {profile!r}")
    baseline = values.get("baseline")
    run = read_options(
        budget=DEFAULT_REQUESTS if values["budget"] is None else values["budget"],
        seed=_number(values.get("seed", 0), "seed", int, named),
        select=[glob.strip() for glob in select.split(",") if glob.strip()] if isinstance(select, str) else select,
        level=values.get("level", "may"),
        baseline=None if baseline is None else _from_root(baseline, config),
        timeout=_number(values.get("timeout", 5.0), "timeout", float, named),
        settle=_number(values.get("settle", 2.0), "settle", float, named),
        judgement=JudgementOptions(fail_on_warn=fail_on == "warn"),
        named=named,
        kind=kind,
        revisions=(revision,),
    )
    report_dir = values.get("report_dir")
    return ClassOptions(
        run=run,
        profile=cast("ProfileName", profile),
        fail_on_warn=fail_on == "warn",
        report_dir=None if report_dir is None else _from_root(report_dir, config),
        adapter=adapter,
    )


def _number(value: Any, name: str, kind: type[Any], named: Callable[[str], str]) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise UsageError(f"{named(name)} must be a number, not {value!r}") from None


def _from_root(path: Any, config: pytest.Config) -> Path:
    return config.invocation_params.dir / Path(path)
