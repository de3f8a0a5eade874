"""Secrets that the user gave for a server: where they come from, and how they are kept out of everything told."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from mcptasks.conformance.errors import UsageError
from mcptasks.strategies.json_values import JSON

__all__ = ["REDACTED", "HeaderLine", "Redactor", "shown_url", "url_secrets"]

REDACTED: Final = "<redacted>"

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE: Final = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_SHORTEST: Final = 4
"""Characters of the shortest text that is looked for; shorter ones would redact at random."""
_OWN: Final = frozenset(
    {"content-type", "accept", "content-length", "host", "mcp-method", "mcp-name", "mcp-protocol-version"}
)


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """A header of the user's: its name and a value, in which ``env:NAME`` stands for an environment variable."""

    name: str
    value: str

    @classmethod
    def parse(cls, text: str) -> HeaderLine:
        """A header from ``Name: value``.

        Raises:
            UsageError: it has no such form, or the suite sets that header itself.
        """
        name, colon, value = text.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not _NAME.fullmatch(name):
            raise UsageError("a header must have the form 'Name: value'")
        if name.lower() in _OWN:
            raise UsageError(f"the header {name} is set by the suite and cannot be given")
        if "\r" in value or "\n" in value:
            raise UsageError(f"the value of the header {name} holds a line break")
        return cls(name, value)

    def resolved(self, environment: Mapping[str, str] = os.environ) -> str:
        """The value to send.

        Raises:
            UsageError: a variable that it names is not set, or the value cannot stand in a header.
        """

        def lookup(match: re.Match[str]) -> str:
            found = environment.get(match[1])
            if found is None:
                raise UsageError(f"the header {self.name} names the environment variable {match[1]}, which is not set")
            return found

        value = _VARIABLE.sub(lookup, self.value)
        if not value.isascii() or not value.replace("\t", " ").isprintable():
            raise UsageError(f"the value of the header {self.name} holds characters that a header cannot hold")
        return value

    @property
    def secrets(self) -> list[str]:
        """Texts that must not be told: what variables hold, or the whole value where it names none.

        Raises:
            UsageError: a variable is not set.
        """
        names = _VARIABLE.findall(self.value)
        if names:
            return [os.environ.get(name, "") for name in names]
        # Of "Bearer abc" the second word alone is the secret; each word may turn up alone.
        return [self.value, *self.value.split()[1:]]

    @property
    def for_shell(self) -> str:
        """The header for a curl command: variables as the shell's, anything else left out."""
        if _VARIABLE.search(self.value):
            value = _VARIABLE.sub(lambda match: f"${{{match[1]}}}", re.sub(r'([\\"`])', r"\\\1", self.value))
            return f'"{self.name}: {value}"'
        return f"'{self.name}: {REDACTED}'"

    @property
    def shown(self) -> str:
        """The header for a report."""
        return f"{self.name}: {self.value if _VARIABLE.fullmatch(self.value) else REDACTED}"


def url_secrets(url: str) -> list[str]:
    """What of a URL must not be told: user information and values in its query."""
    parts = urlsplit(url)
    out = [text for text in (parts.password, parts.username) if text]
    return out + [pair.partition("=")[2] for pair in parts.query.split("&") if "=" in pair]


def shown_url(url: str) -> str:
    """The URL as reports name it: without user information, values of its query redacted."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(
        f"{key}={REDACTED}" if equals else key
        for key, equals, _ in (pair.partition("=") for pair in parts.query.split("&"))
    )
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


class Redactor:
    """Replaces secrets in anything that is told."""

    def __init__(self, secrets: Sequence[str]) -> None:
        # The longest first, so that no part of one is left over.
        kept = sorted({text for text in secrets if len(text) >= _SHORTEST}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, kept))) if kept else None

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        return text if self._pattern is None else self._pattern.sub(REDACTED, text)

    def __call__(self, value: JSON) -> Any:
        """A JSON value without secrets in any of its texts."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self(key): self(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self(item) for item in value]
        return value
