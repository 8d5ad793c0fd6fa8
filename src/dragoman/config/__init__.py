"""The user's configuration: one YAML file, typed. Every mistake is reported with file, line and key.

loaded = load(Path("dragoman.yaml"), known=KnownNames(profiles=…, rules=…))
loaded.config.models["smart"].target
"""

from dragoman.config.access import Client, Clients
from dragoman.config.errors import InvalidConfig, Problem
from dragoman.config.file_watch import ConfigFile
from dragoman.config.known_names import KnownNames
from dragoman.config.load import DEFAULT_FILE, Loaded, load, parse
from dragoman.config.model_targets import (
    ConfiguredTarget,
    FallbackReason,
    TargetSettings,
    find_fallbacks,
    find_target,
    settings_for,
)
from dragoman.config.schema import ClientKey, Config, Model, Provider
from dragoman.config.secret import Secret
from dragoman.config.validation import is_loopback, public_bind_refusal
from dragoman.config.variables import Environment

__all__ = [
    "DEFAULT_FILE",
    "Client",
    "ClientKey",
    "Clients",
    "Config",
    "ConfigFile",
    "ConfiguredTarget",
    "Environment",
    "FallbackReason",
    "InvalidConfig",
    "KnownNames",
    "Loaded",
    "Model",
    "Problem",
    "Provider",
    "Secret",
    "TargetSettings",
    "find_fallbacks",
    "find_target",
    "is_loopback",
    "load",
    "parse",
    "public_bind_refusal",
    "settings_for",
]
