"""The extras of the package: which one brings a module that is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {
    "asyncpg": "postgres",
    "azure": "cloud",
    "botocore": "cloud",
    "click": "cli",
    "google": "cloud",
    "hiredis": "redis",
    "httptools": "gateway",
    "httpx2": "mcp",
    "jinja2": "gateway",
    "mcp": "mcp",
    "mcp_types": "mcp",
    "opentelemetry": "otel",
    "orjson": "emulators",
    "redis": "redis",
    "rich": "cli",
    "uvicorn": "gateway",
    "uvloop": "gateway",
    "yaml": "cli",
}
"""Modules that come with an extra, by the name under which they are imported."""


def missing_extra(error: ImportError, extra: str = "") -> str:
    """What to install if a module of an extra is missing; empty for any other error. `extra`: the one to name."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return ""
    return f"this needs {module}, which is not installed (pip install 'dragoman[{extra or EXTRAS[module]}]')"


@contextmanager
def naming_extra(extra: str) -> Iterator[None]:
    """Make the error of an import in this block name the extra that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if advice := missing_extra(error, extra):
            raise ModuleNotFoundError(advice, name=error.name) from None
        raise
