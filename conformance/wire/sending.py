"""How requests leave: one at a time as they are made, with nothing added, followed, stored or tried again."""

from __future__ import annotations

import ssl
from typing import Final, Protocol
from urllib.request import getproxies

import httpx

from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.wire.plain_http import PlainTransport
from mcptasks.conformance.wire.stdio_channel import StdioChannel
from mcptasks.conformance.wire.stdio_transport import StdioTransport

__all__ = ["LOOPBACK", "HttpSender", "is_refused", "sender_for"]

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine, in a URL."""


class HttpSender(Protocol):
    """Sends requests of httpx."""

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Send one; the body of the answer is still to be read, and the answer to be closed."""

    async def aclose(self) -> None:
        """Close the connections."""


class _Direct:
    """Straight to a transport."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def send(self, request: httpx.Request) -> httpx.Response:
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self._transport.aclose()


class _Client:
    """Through a client of httpx, which knows the proxies of the environment."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def send(self, request: httpx.Request) -> httpx.Response:
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        await self._client.aclose()


def sender_for(
    url: httpx.URL,
    *,
    kept: int,
    idle_s: float = 5.0,
    stdio: StdioChannel | None = None,
    verify: ssl.SSLContext | None = None,
) -> HttpSender:
    """What sends requests to an address.

    A proxy that the environment names is for servers elsewhere; none reaches this machine's loopback.

    Args:
        url: of the endpoint.
        kept: connections that stay open while idle.
        idle_s: seconds for which they do.
        stdio: the channel to a server over stdio, instead of HTTP.
        verify: for TLS, instead of a context made here.

    Raises:
        UsageError: the environment names a proxy that is none, or of a kind that is not installed.
    """
    if stdio is not None:
        return _Direct(StdioTransport(stdio))
    if url.scheme == "http" and (url.host in LOOPBACK or not getproxies()):
        return _Direct(PlainTransport(kept=kept, idle_s=idle_s))
    try:
        client = httpx.AsyncClient(
            verify=True if verify is None else verify,
            follow_redirects=False,
            trust_env=url.host not in LOOPBACK,
            timeout=None,
            limits=httpx.Limits(max_keepalive_connections=kept, keepalive_expiry=idle_s),
        )
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise UsageError(f"the proxy that the environment names cannot be used: {error}") from error
    return _Client(client)


def is_refused(error: BaseException | None) -> bool:
    """Whether nothing listens, as far as the causes of an error tell."""
    for _ in range(10):
        if error is None:
            return False
        if (
            isinstance(error, ConnectionRefusedError)
            or "refused" in str(error).lower()
            or "attempts failed" in str(error)
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
