"""Stores in other languages: a process that speaks JSON-RPC on its standard streams (contract, section 6)."""
