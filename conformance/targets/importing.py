"""Finding what ``--store`` names: ``module:attr`` or ``path/file.py:attr``."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.targets.records import describe_error

__all__ = ["load_attribute"]


def _load_file(path: Path, spec_text: str) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"--store {spec_text}: there is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = path.stem
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path.resolve()):
        return known
    if known is not None or not name.isidentifier():
        name = f"_mcptasks_target_{abs(hash(str(path.resolve())))}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"--store {spec_text}: {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_attribute(spec_text: str, option: str = "--store") -> object:
    """The object that ``module:attr`` or ``path/file.py:attr`` names.

    The working directory and the file's folder are put on ``sys.path``.

    Raises:
        UsageError: nothing of that name can be imported; the message says which part is wrong.
    """
    module_name, separator, attribute = spec_text.rpartition(":")
    if not separator or not module_name or not attribute:
        raise UsageError(f"{option} {spec_text}: write module:attribute or path/file.py:attribute")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        if module_name.endswith(".py") or os.sep in module_name:
            module = _load_file(Path(module_name), spec_text)
        else:
            module = importlib.import_module(module_name)
    except UsageError:
        raise
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{option} {spec_text}: there is no module '{error.name}' (looked in the working directory too)"
        ) from error
    except BaseException as error:
        raise UsageError(f"{option} {spec_text}: importing {module_name} raises {describe_error(error)}") from error
    found: object = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = [name for name in dir(module) if not name.startswith("_") and part.lower() in name.lower()][:5]
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise UsageError(f"{option} {spec_text}: {module_name} has no attribute '{part}'{hint}") from None
    return found
