"""Where the files of the package stand that state facts: profiles, models, prices, families, tokenizers."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent / "data"
"""The package is installed as a folder, so its files have paths."""
