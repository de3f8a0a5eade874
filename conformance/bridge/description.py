"""What a bridge says about its store: the answer to ``store/describe``."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcptasks.strategies.json_values import JSON

__all__ = ["FACTORY_KEYWORDS", "Description", "read_description"]

FACTORY_KEYWORDS: Final = {
    "2026-07-28": {"clockMs": "clock", "defaultTtlMs": "default_ttl_ms", "location": "location"},
    "2025-11-25": {
        "clockMs": "clock",
        "defaultTtlMs": "default_ttl",
        "pageSize": "page_size",
        "location": "location",
    },
}
"""For each revision: members of ``store/open``, and the factory keyword that each stands for (contract, section 2)."""
_OPTIONAL: Final = {"2026-07-28": frozenset[str](), "2025-11-25": frozenset({"waitForResult", "statusChange"})}


class Description(BaseModel):
    """Name and abilities of a store behind a bridge."""

    model_config = ConfigDict(strict=True, frozen=True)

    name: str = Field(min_length=1)
    version: str
    revision: Literal["2026-07-28", "2025-11-25"]
    keywords: list[str]
    """Members of ``store/open`` that are honoured."""
    optional: list[str] = Field(default_factory=list)
    """2025-11-25: ``waitForResult`` and ``statusChange``, where the store has them."""
    payloads: Literal["any", "call-tool-result"] = "any"
    """Which results the store's interface can hold."""
    sessions: bool = True
    """2025-11-25: whether the store's interface knows sessions."""
    not_applicable: dict[str, str] = Field(default_factory=dict, alias="notApplicable")
    """Globs over requirement ids that the store's interface cannot express, each with the reason."""


def read_description(value: JSON) -> Description:
    """What a bridge answered.

    Raises:
        ValueError: it is none; the message says in one line what is wrong.
    """
    if not isinstance(value, dict):
        raise ValueError("is no object")
    try:
        found = Description.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{place}: {first['msg']}") from error
    for what, given, known in (
        ("keywords", found.keywords, tuple(FACTORY_KEYWORDS[found.revision])),
        ("optional", found.optional, tuple(sorted(_OPTIONAL[found.revision]))),
    ):
        odd = [item for item in given if item not in known]
        if odd:
            raise ValueError(f"{what}: {odd[0]!r} is none of {found.revision}; known are {', '.join(known) or 'none'}")
    return found
