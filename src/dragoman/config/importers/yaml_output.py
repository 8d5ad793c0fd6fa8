"""An imported configuration as a file."""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from dragoman.config.importers.foreign_config import Imported


class _Plain(yaml.SafeDumper):
    """Writes a value that stands in two places twice: people read this file."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def as_yaml(imported: Imported, origin: str) -> str:
    """YAML, with everything that was not imported named in its head."""
    head = [f"Imported from {' '.join(origin.split())}."]
    if imported.notes:
        head += ["", "Please read; what follows could not be carried over as it was:"]
        head += [line for note in imported.notes for line in _item(str(note))]
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head)
    body = yaml.dump(imported.config, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)
    return f"{comment}\n{body}"


def _item(text: str) -> list[str]:
    # A note quotes a foreign file: no line break of it may end the comment.
    return textwrap.wrap(" ".join(text.split()), 110, initial_indent="- ", subsequent_indent="  ")
