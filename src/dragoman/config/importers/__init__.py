"""Translate the configurations of other gateways.

Each importer takes parsed files and returns a configuration and notes. The notes name every setting that has no
counterpart, so nothing is dropped silently.
"""

from dragoman.config.importers.claude_code_router import import_claude_code_router
from dragoman.config.importers.foreign_config import Imported, ImportNote, render_yaml
from dragoman.config.importers.lazyrouter import import_lazyrouter
from dragoman.config.importers.litellm import import_litellm
from dragoman.config.importers.nnp import import_nnp

__all__ = [
    "ImportNote",
    "Imported",
    "import_claude_code_router",
    "import_lazyrouter",
    "import_litellm",
    "import_nnp",
    "render_yaml",
]
