"""The catalogue: every obligation that the suite can hold a target to, as data with its source."""

from mcptasks.conformance.catalogue.files import CatalogueError
from mcptasks.conformance.catalogue.loader import Catalogue, load_catalogue
from mcptasks.conformance.catalogue.models import (
    NEEDS,
    Ambiguity,
    Cell,
    Need,
    Requirement,
    Row,
    Source,
    WireExample,
    level_rank,
)

__all__ = [
    "NEEDS",
    "Ambiguity",
    "Catalogue",
    "CatalogueError",
    "Cell",
    "Need",
    "Requirement",
    "Row",
    "Source",
    "WireExample",
    "level_rank",
    "load_catalogue",
]
