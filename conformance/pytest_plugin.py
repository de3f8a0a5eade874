"""The pytest plugin: options, and one test item for each requirement of a ``TaskStoreConformance`` class.

It is loaded in every pytest run of an environment that has the suite, so it imports nothing of it,
no Hypothesis and no target, until a class asks for that.
"""

from __future__ import annotations

import pytest

from mcptasks.conformance.errors import UsageError

__all__ = ["pytest_addoption", "pytest_configure", "pytest_generate_tests"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ``--mcptasks-…`` options."""
    from mcptasks.conformance.pytest_options import add_options

    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a wrong option at once, and not once for every class."""
    from mcptasks.conformance.pytest_options import given_values, options_of

    if given_values(config):
        try:
            options_of(None, config)
        except UsageError as error:
            raise pytest.UsageError(f"mcptasks: {error}") from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make ``test_requirement`` of a conformance class one test for each requirement."""
    cls = metafunc.cls
    if cls is None or not hasattr(cls, "mcptasks_kind") or metafunc.function.__name__ != "test_requirement":
        return
    from mcptasks.conformance.pytest_class import requirement_ids

    try:
        ids = requirement_ids(cls, metafunc.config)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"mcptasks: {error}") from None
    metafunc.parametrize("requirement", ids)
