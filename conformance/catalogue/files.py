"""Reading the catalogue's YAML: fast where libyaml is there, and no key twice in a mapping."""

from __future__ import annotations

from collections.abc import Hashable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

__all__ = ["CatalogueError", "build", "read_yaml"]

_SafeLoader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
M = TypeVar("M", bound=BaseModel)


class CatalogueError(Exception):
    """The catalogue is broken; the message names the file and, where there is one, the entry."""


class _UniqueKeyLoader(_SafeLoader):  # type: ignore[misc]  # the base is chosen at run time
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        if len(mapping) != len(node.value):
            seen: set[Any] = set()
            for key_node, _ in node.value:
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key '{key_node.value}' stands twice in a mapping", key_node.start_mark
                    )
                seen.add(key_node.value)
        return mapping


def read_yaml(folder: Traversable | Path, name: str) -> dict[str, Any]:
    """The mapping in one file.

    Raises:
        CatalogueError: the file cannot be read, is not YAML, repeats a key, or holds no mapping.
    """
    try:
        text = folder.joinpath(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{name}: cannot be read: {error}") from error
    try:
        # The loader is a safe one; it only adds a check.
        value = yaml.load(text, _UniqueKeyLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark is not None else ""
        raise CatalogueError(f"{name}{where}: {getattr(error, 'problem', None) or 'is no YAML'}") from error
    if not isinstance(value, dict):
        raise CatalogueError(f"{name}: must be a mapping")
    return value


def build(model: type[M], value: object, where: str) -> M:
    """A model from parsed YAML.

    Args:
        model: the pydantic model to make.
        value: what the file holds for it.
        where: file and entry, for the message.

    Raises:
        CatalogueError: a member is missing, unknown or has a value that it may not have; one line, first fault only.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        member = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            problem = f"unknown member '{member}'"
        elif first["type"] == "missing":
            problem = f"lacks member '{member}'"
        else:
            message = first["msg"].removeprefix("Value error, ")
            problem = f"member '{member}': {message}" if member else message
        raise CatalogueError(f"{where}: {problem}") from error
