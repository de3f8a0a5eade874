"""The wire protocol of MCP 2026-07-28 as far as tasks reach: names, header values, messages."""
