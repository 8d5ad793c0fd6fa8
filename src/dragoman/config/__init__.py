"""The user's configuration: one YAML file, typed. Every mistake is reported with file, line and key.

    loaded = load(Path("dragoman.yaml"), known=KnownNames(profiles=…, rules=…))
    loaded.config.models["smart"].target

`load.py` reads the file. It is imported from there, so that the types alone do not need a YAML parser.
"""
