"""The names that a configuration may use.

This package does not import profiles and rules; the caller passes their names. `None` means: not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct


class ProfileVariables(Struct, frozen=True, kw_only=True):
    """The environment variables that a profile looks at, and what it does without. Of several the first that is set
    wins."""

    key: tuple[str, ...] = ()
    address: str = ""
    region: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    url: str = ""
    """The address if neither the file nor the environment has one."""
    takes_credentials: bool = False
    """Whether a cloud's credentials are used if there is no key."""


NO_VARIABLES = ProfileVariables()


class KnownNames(Struct, frozen=True, kw_only=True):
    """The names to check a file against."""

    profiles: frozenset[str] | None = None
    """Built-in profiles. A target may begin with one of them."""

    rules: Mapping[str, tuple[str, ...]] | None = None
    """Rule → all its options. Empty: the rule takes free text, which `choice_refusal` checks."""

    choice_refusal: Callable[[str, Any], str | None] | None = None
    """Rule and choice → why the rule does not take it."""

    facts: Mapping[str, tuple[str, ...]] | None = None
    """Fact → its values. Empty: any value."""

    texts: frozenset[str] | None = None
    """Reasons for a synthetic turn or text."""

    families: tuple[str, ...] = ()
    """Families of model names."""

    variables_of: Callable[[str], ProfileVariables] = lambda _: NO_VARIABLES
    """Profile → its environment variables. Asked only for what a file uses: reading every profile takes a while."""

    model_refusal: Callable[[str, str], str | None] = lambda profile, model: None
    """Profile and model → why the profile does not serve the model."""

    with_profiles: Callable[[tuple[Path, ...]], KnownNames] | None = None
    """Files with the user's profiles → the names with theirs added."""

    gateway_profile: str = "openai-compatible"
    """The profile for `LLM_GATEWAY_URL`."""
