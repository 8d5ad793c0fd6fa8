"""The user's file: one YAML, typed, with every mistake named by file, line and key.

loaded = load(Path("dragoman.yaml"), known=Known(profiles=…, rules=…))
loaded.config.models["smart"].target
"""

from dragoman.config.access import Client, Clients
from dragoman.config.errors import ConfigError, Problem
from dragoman.config.file_watch import ConfigFile
from dragoman.config.known_names import Known
from dragoman.config.load import DEFAULT_FILE, Loaded, load, parse
from dragoman.config.model_targets import Place, Reason, Treatment, fallbacks, merged, place, treatment
from dragoman.config.schema import Config, Key, Model, Provider
from dragoman.config.secret import Secret
from dragoman.config.validation import is_loopback, public_bind_refusal
from dragoman.config.variables import Environment

__all__ = [
    "DEFAULT_FILE",
    "Client",
    "Clients",
    "Config",
    "ConfigError",
    "ConfigFile",
    "Environment",
    "Key",
    "Known",
    "Loaded",
    "Model",
    "Place",
    "Problem",
    "Provider",
    "Reason",
    "Secret",
    "Treatment",
    "fallbacks",
    "is_loopback",
    "load",
    "merged",
    "parse",
    "place",
    "public_bind_refusal",
    "treatment",
]
