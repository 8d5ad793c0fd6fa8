"""Render an imported configuration as YAML."""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from dragoman.config.importers.foreign_config import Imported


class _Plain(yaml.SafeDumper):
    """Writes repeated values in full instead of YAML aliases, because people read this file."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def render_yaml(imported: Imported, origin: str) -> str:
    """YAML, with all notes in a comment at the top."""
    head = [f"Imported from {' '.join(origin.split())}."]
    if imported.notes:
        head += ["", "Please read. These settings could not be imported as they were:"]
        head += [line for note in imported.notes for line in _item(str(note))]
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head)
    body = yaml.dump(imported.config, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)
    return f"{comment}\n{body}"


def _item(text: str) -> list[str]:
    # A note may quote a line break of the foreign file, which would end the comment.
    return textwrap.wrap(" ".join(text.split()), 110, initial_indent="- ", subsequent_indent="  ")
