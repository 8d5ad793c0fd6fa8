"""Chat templates of our own that police conversations as the public ones do.

Each file of `public_like/` is written in the manner of a family of models: what it refuses, in which words, what it
needs, and what it leaves out. None is a copy.
"""

from __future__ import annotations

from pathlib import Path

TEMPLATES = {path.stem: path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("public_like/*.jinja"))}
