"""The pytest plugin: one test item for each requirement of a ``TaskStoreConformance`` class."""

from __future__ import annotations
