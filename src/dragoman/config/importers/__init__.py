"""Configurations of other gateways, translated into ours.

Each importer takes the files as data and gives a configuration and a list of notes: whatever has no counterpart here
is named there. Nothing is dropped in silence.
"""

from dragoman.config.importers.foreign_config import Imported, Note
from dragoman.config.importers.lazyrouter import import_lazyrouter
from dragoman.config.importers.litellm import import_litellm
from dragoman.config.importers.nnp import import_nnp
from dragoman.config.importers.yaml_output import as_yaml

__all__ = ["Imported", "Note", "as_yaml", "import_lazyrouter", "import_litellm", "import_nnp"]
