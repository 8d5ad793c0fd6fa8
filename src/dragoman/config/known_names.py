"""The names a configuration may use.

Which profiles, rules and facts exist is known further up; the configuration is told. `None` means: not checked.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Known(Struct, frozen=True, kw_only=True):
    """Names to check a file against."""

    profiles: frozenset[str] | None = None
    """Built-in profiles; the first word of a target may be one of them."""

    rules: Mapping[str, tuple[str, ...]] | None = None
    """Rule → its options, those that every rule has included; no options: any value is left to the rule."""

    facts: Mapping[str, tuple[str, ...]] | None = None
    """Fact → its values; no values: anything."""

    texts: frozenset[str] | None = None
    """Reasons for which a turn or text is made up."""

    variables: Mapping[str, tuple[str, ...]] = {}
    """Profile → well-known environment variables that hold its key, the first that is set wins."""

    gateway_profile: str = "openai-compatible"
    """The profile of what `LLM_GATEWAY_URL` names."""
