"""A shell and files of the client's, in the form of OpenAI's tools: what a text asks to be run or written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dragoman.emulators.provider import ModelCall

_QUOTED = re.compile(r"[\"“`]([^\"”`\n]{1,500})[\"”`]")
_PATH = re.compile(r"[\w./~-]{0,200}\w\.\w{1,10}\b")
_FILES = (
    ("create", "Creates or writes a new file"),
    ("update", "Changes or edits a file"),
    ("delete", "Deletes or removes a file"),
)
_SHELL = (("run", "Runs or executes a command in the shell"),)
_VERBS: Mapping[str, tuple[tuple[str, str], ...]] = {"shell": _SHELL, "local_shell": _SHELL, "apply_patch": _FILES}


def is_workspace(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of `tools` is a shell, or a way to files."""
    return isinstance(entry.get("type"), str) and entry["type"] in _VERBS


def workspace_verbs(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What a model may do with it, each with its description; nothing if the provider runs it."""
    place = entry.get("environment")
    elsewhere = isinstance(place, dict) and place.get("type") not in (None, "local")
    return () if elsewhere else _VERBS[entry["type"]]


def work(entry: Mapping[str, Any], verb: str, words: str) -> ModelCall:
    """The call of a declared tool that does what the words ask for."""
    kind = entry["type"]
    if kind == "apply_patch":
        return ModelCall(kind, {"operation": _operation(verb, words)})
    command = _command(words)
    if kind == "shell":
        return ModelCall(kind, {"action": {"commands": [command], "max_output_length": None, "timeout_ms": None}})
    return ModelCall(kind, {"action": {"type": "exec", "command": ["bash", "-lc", command], "env": {}}})


def _command(words: str) -> str:
    found = _QUOTED.search(words)
    if found is not None:
        return found[1]
    given = [words.partition(verb)[2] for verb in ("un ", "xecute ") if verb in words]
    return given[0].partition("\n")[0][:500].rstrip(". ") if given else "ls"


def _operation(verb: str, words: str) -> dict[str, str]:
    """A file that is created has a plus before each line; a change has a minus before the old words."""
    found, quoted = _PATH.search(words), _QUOTED.findall(words)
    path = found[0] if found else "notes.txt"
    quoted = [text for text in quoted if text != path]
    if verb == "delete":
        return {"type": "delete_file", "path": path}
    if verb == "create":
        return {"type": "create_file", "path": path, "diff": f"+{quoted[0] if quoted else 'text'}"}
    old, new = (*quoted, "old", "new")[:2] if len(quoted) != 1 else ("old", quoted[0])
    return {"type": "update_file", "path": path, "diff": f"@@\n-{old}\n+{new}"}
