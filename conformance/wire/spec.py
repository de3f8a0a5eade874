"""A server as the user named it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, get_args
from urllib.parse import unquote, urlsplit

from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.wire.secrets import HeaderLine, Redactor, shown_url, url_secrets
from mcptasks.conformance.wire.stdio_process import split_command
from mcptasks.strategies.json_values import JSON

__all__ = ["DEFAULT_REQUESTS", "PROFILES", "REVISIONS", "ProfileName", "RevisionName", "ServerSpec"]

ProfileName = Literal["control", "official", "mapped"]
RevisionName = Literal["auto", "2026-07-28", "2025-11-25"]
REVISIONS: Final = ("2026-07-28", "2025-11-25")
"""The latest first."""
PROFILES: Final[tuple[ProfileName, ...]] = ("control", "official", "mapped")

_OF_THE_HARNESS: Final = HeaderLine("Authorization", "Bearer mcptasks-other")
"""Of a second caller of the suite's own harness, which takes everyone's word."""
DEFAULT_REQUESTS: Final = 1800
"""Requests of a run where the user names no budget."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A server over Streamable HTTP or over stdio."""

    url: str = ""
    """Its endpoint; may be empty with ``start``, whose first line of output then names it."""
    headers: tuple[HeaderLine, ...] = ()
    other_headers: tuple[HeaderLine, ...] = ()
    """Of a second caller, who may see nothing of the first one's tasks: sent instead of those of the same names."""
    peer_url: str = ""
    """Endpoint of a second replica of the same deployment."""
    start: str | None = None
    """Command that starts it first."""
    command: str | None = None
    """Command that starts a server over stdio, which then has no URL."""
    restart_command: str | None = None
    """Command that kills it hard, starts it on the same data, and returns when it is up."""
    serve: str | None = None
    """Task store (``module:attr``) to put behind the suite's own harness, which is then the server."""
    profile: ProfileName | None = None
    """Which tools to drive it with; ``None`` takes the richest that it offers."""
    mapping: dict[str, dict[str, Any]] = field(default_factory=dict)
    """With the profile ``mapped``: the server's own tools by what they do (see :mod:`.mapping`)."""
    max_requests: int | None = None
    rate: float | None = None
    """Requests per second at most."""
    settle: float | None = None
    """Seconds until an effect must show; ``None`` is the contract's default."""

    revision: RevisionName = "auto"
    """Which revision to check; ``auto`` takes the latest that it speaks."""

    kind: Literal["server"] = "server"

    def __post_init__(self) -> None:
        """Check what can be checked without asking the server.

        Raises:
            UsageError: the URL is none, or a number is out of range.
        """
        for url in (self.url, self.peer_url):
            if url:
                _check_url(url)
        if self.command is not None:
            self._check_command(self.command)
        elif not self.url and self.start is None and self.serve is None:
            raise UsageError("a server needs a URL")
        if self.profile is not None and self.profile not in PROFILES:
            raise UsageError(
                f"unknown profile '{self.profile}'; known are control, official, or a mapping file (.toml)"
            )
        if self.profile == "mapped" and not self.mapping:
            raise UsageError(
                "the profile mapped needs a file that says what the server's tools do: --profile FILE.toml"
            )
        if self.revision not in get_args(RevisionName):
            raise UsageError(f"revision '{self.revision}' is unknown; known are 2026-07-28, 2025-11-25 and auto")
        if self.max_requests is not None and self.max_requests < 1:
            raise UsageError("--max-requests must be at least 1")
        if self.rate is not None and not self.rate > 0:
            raise UsageError("--rate must be above 0")
        if self.settle is not None and self.settle < 0:
            raise UsageError("--settle must not be negative")

    def _check_command(self, command: str) -> None:
        split_command(command)
        if self.revision == "2025-11-25":
            raise UsageError("--revision 2025-11-25: servers of it are checked over HTTP only; name one with --url")
        for option, given in (
            ("a URL", self.url),
            ("--peer-url", self.peer_url),
            ("--start", self.start),
            ("--restart-command", self.restart_command),
            ("--header", self.headers),
            ("--other-header", self.other_headers),
        ):
            if given:
                raise UsageError(f"--command names a server over stdio, and {option} goes with one over HTTP")

    @property
    def name(self) -> str:
        """How reports name it."""
        if self.command is not None:
            return self.command
        if self.serve is not None:
            return f"server over {self.serve}"
        return shown_url(self.url) if self.url else (self.start or "")

    @property
    def sent_headers(self) -> tuple[HeaderLine, ...]:
        """The headers to send: the user's, and what user information in the URL stands for."""
        parts = urlsplit(self.url)
        if not parts.username or any(line.name.lower() == "authorization" for line in self.headers):
            return self.headers
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return (*self.headers, HeaderLine("Authorization", f"Basic {b64encode(pair.encode()).decode()}"))

    @property
    def has_other(self) -> bool:
        """Whether there is a second caller: one whom the user names, or of the suite's own harness any."""
        return bool(self.other_headers) or self.serve is not None

    @property
    def other_sent_headers(self) -> tuple[HeaderLine, ...]:
        """The headers to send as the second caller."""
        lines = self.other_headers or ((_OF_THE_HARNESS,) if self.serve is not None else ())
        names = {line.name.lower() for line in lines}
        return (*(line for line in self.sent_headers if line.name.lower() not in names), *lines)

    @property
    def redactor(self) -> Redactor:
        """What keeps its secrets out of everything told."""
        lines = (*self.sent_headers, *self.other_headers)
        return Redactor(
            [
                *url_secrets(self.url),
                *url_secrets(self.peer_url),
                *(secret for line in lines for secret in line.secrets),
            ]
        )

    def options(self) -> dict[str, JSON]:
        """How to name it again on the command line, secrets left out."""
        out: dict[str, JSON] = {}
        if self.url:
            out["url"] = shown_url(self.url)
        if self.peer_url:
            out["peer_url"] = shown_url(self.peer_url)
        if self.headers:
            out["headers"] = [line.shown for line in self.headers]
        if self.other_headers:
            out["other_headers"] = [line.shown for line in self.other_headers]
        for member in ("start", "command", "restart_command", "serve", "profile", "max_requests", "rate", "settle"):
            value = getattr(self, member)
            if value is not None:
                out[member] = value
        if self.revision != "auto":
            out["revision"] = self.revision
        if self.mapping:
            out["mapping"] = dict(self.mapping)
        return out

    def to_json(self) -> dict[str, JSON]:
        """The form that :meth:`from_json` reads; it holds what the user wrote, secrets included."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ServerSpec:
        """The server that :meth:`to_json` wrote."""
        lines = {name: tuple(HeaderLine(**line) for line in value[name]) for name in ("headers", "other_headers")}
        return cls(**{**value, **lines})

    @classmethod
    def named(
        cls, url: str, headers: Sequence[str] = (), other_headers: Sequence[str] = (), **options: Any
    ) -> ServerSpec:
        """A server from the texts of ``--url``, ``--header`` and ``--other-header``.

        Raises:
            UsageError: one of them is malformed.
        """
        lines, others = (tuple(HeaderLine.parse(text) for text in texts) for texts in (headers, other_headers))
        return cls(url, lines, others, **options)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises where it is no port
    except ValueError as error:
        raise UsageError(f"'{shown(url)}' is no URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"'{shown(url)}' is no http:// or https:// URL")


def shown(url: str) -> str:
    """The URL for an error message, also where it is none."""
    try:
        return shown_url(url)
    except ValueError:
        return url.rpartition("@")[2]
