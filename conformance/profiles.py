"""Hypothesis as the suite runs it: two profiles, and no folder left behind.

Nothing here imports Hypothesis before it is asked for.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    import hypothesis

__all__ = ["CI", "LONG", "PROFILES", "STORAGE_VARIABLE", "ProfileName", "profile", "storage_apart", "storage_wanted"]

ProfileName = Literal["mcptasks-ci", "mcptasks-long"]

CI: Final = "mcptasks-ci"
"""Some seconds, the same examples every time."""
LONG: Final = "mcptasks-long"
"""A long search, other examples every time."""

PROFILES: Final[tuple[ProfileName, ...]] = (CI, LONG)

STORAGE_VARIABLE: Final = "HYPOTHESIS_STORAGE_DIRECTORY"

_HOME: Final = "__hypothesis_home_directory"


def profile(name: ProfileName) -> hypothesis.settings:
    """The settings of a profile; it is registered with Hypothesis too, under the same name.

    The phase that explains a failure is left out: it costs three times the rest, and what it says of
    a sequence the report says better.

    Raises:
        ValueError: there is no such profile.
    """
    from hypothesis import HealthCheck, Phase, settings

    sizes: dict[str, dict[str, Any]] = {
        CI: {"max_examples": 100, "stateful_step_count": 30, "derandomize": True},
        LONG: {"max_examples": 5_000, "stateful_step_count": 60, "derandomize": False},
    }
    if name not in sizes:
        raise ValueError(f"unknown Hypothesis profile {name!r}; known are {', '.join(PROFILES)}")
    made = settings(
        **sizes[name],
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    settings.register_profile(name, made)
    return made


def storage_wanted() -> bool:
    """Whether Hypothesis would make a ``.hypothesis`` folder that the user neither has nor asked for."""
    return not os.environ.get(STORAGE_VARIABLE) and not (Path.cwd() / ".hypothesis").exists()


@contextmanager
def storage_apart() -> Iterator[None]:
    """While it lasts, Hypothesis keeps its caches in a folder that goes away with it.

    Without a database it still writes tables of Unicode and of the constants in local modules.  If
    the user has a folder for these, it is used.
    """
    from hypothesis import configuration

    # There is no public way to ask for it, only one to set it; absent, it is None, the default.
    before = vars(configuration).get(_HOME)
    if not storage_wanted() or (before is not None and Path(before).exists()):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="mcptasks-hypothesis-", ignore_cleanup_errors=True) as folder:
        configuration.set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(before)
