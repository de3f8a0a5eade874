"""A server with tools of its own, none of which the suite knows by name."""

from __future__ import annotations

import dataclasses
from typing import Any

from mcptasks.fixtures.gallery.server_base import EntryServer

NAMES = {
    "slow_compute": "bake",
    "failing_job": "burn",
    "protocol_error_job": "explode",
    "confirm_delete": "order",
    "multi_input": "survey",
    "greet": "menu",
}


class ShopServer(EntryServer):
    """Bakes, burns and takes orders."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tools = {
            NAMES[name]: dataclasses.replace(tool, name=NAMES[name])
            for name, tool in self.tools.items()
            if name in NAMES
        }
