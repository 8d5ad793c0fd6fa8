"""The user's configuration: one YAML file, typed. Every mistake is reported with file, line and key.

    loaded = load(Path("dragoman.yaml"), known=KnownNames(profiles=…, rules=…))
    loaded.config.models["smart"].target

`load.py` reads the file. It is imported from there, so that the types alone do not need a YAML parser.
"""

from dragoman.config.clients import Client, Clients
from dragoman.config.errors import InvalidConfig, Problem
from dragoman.config.known_names import KnownNames
from dragoman.config.model_lookup import ConfiguredTarget, FallbackReason, ModelLead, find_lead, find_target
from dragoman.config.schema import ClientKey, Config, Model, Provider
from dragoman.config.secret import Secret
from dragoman.config.target_settings import TargetSettings, settings_for

__all__ = [
    "Client",
    "ClientKey",
    "Clients",
    "Config",
    "ConfiguredTarget",
    "FallbackReason",
    "InvalidConfig",
    "KnownNames",
    "Model",
    "ModelLead",
    "Problem",
    "Provider",
    "Secret",
    "TargetSettings",
    "find_lead",
    "find_target",
    "settings_for",
]
