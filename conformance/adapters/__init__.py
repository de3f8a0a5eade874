"""Adapters: foreign store interfaces in terms of the store protocol.

An adapter translates and nothing else.  It adds no check that the foreign store lacks and hides
none of its effects; where the translation itself bounds what can be seen, the adapter says so in
``not_applicable`` and in its docstring.
"""

from __future__ import annotations

from mcptasks.conformance.adapters.adapter import Adapter, AdapterError, PayloadDomain
from mcptasks.conformance.adapters.lookup import adapter_names, find_adapter

__all__ = ["Adapter", "AdapterError", "PayloadDomain", "adapter_names", "find_adapter"]
