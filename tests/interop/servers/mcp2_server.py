"""A server of PyPI ``mcp`` 2.x with one plain tool and no tasks: the suite must say that there is nothing to check.

``python mcp2_server.py --port 0`` serves Streamable HTTP on loopback, prints the URL and runs until
it is ended.  Needs ``pip install mcp==2.3.0`` and nothing of this project.
"""

from __future__ import annotations

import argparse
import asyncio
import socket

import uvicorn
from mcp.server.mcpserver import MCPServer

mcp = MCPServer("interop-mcp2", version="1.0.0")


@mcp.tool()
def greet(name: str = "world") -> str:
    """Say hello."""
    return f"Hello, {name}!"


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    # With the protocol left at 0 asyncio does not switch Nagle off, and every answer waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", parser.parse_args().port))
    listener.listen(128)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    server = uvicorn.Server(uvicorn.Config(mcp.streamable_http_app(), log_level="warning"))
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
