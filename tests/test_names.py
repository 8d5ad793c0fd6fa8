"""A stranger finds things by their names: no class shares its name, no module hides a well-known one.

The lists of exceptions give a reason for each entry. An entry that is no longer needed fails, so the lists only shrink.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.source_trees import syntax_nodes

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dragoman"

# Class names with several definitions, and why they may have them.
SHARED_CLASSES = {
    "Translated": "one for sync and one for async in integrations/sdk_transport",
}

# Modules with the name of a well-known module, and why they may have it.
SHADOWING_MODULES = {
    "config/importers/litellm.py": "an importer is named after the gateway whose configuration it reads",
    "dialects/anthropic": "a dialect is named after its wire format",
    "dialects/cohere": "a dialect is named after its wire format",
    "emulators/cohere": "an emulator is named after its provider",
    "emulators/anthropic": "an emulator is named after its provider",
    "emulators/chat/openai": "an emulator is named after its provider",
    "gateway/http": "a room is named after its job; the standard package is not used there",
    "profiles/profile.py": "a profile is a word of the glossary; the standard profiler is not used here",
}

# Packages that the project, its clients or its readers import. The standard library is added below.
WELL_KNOWN = {
    "anthropic", "click", "cohere", "google", "httptools", "httpx", "httpx2", "hypothesis", "jinja2", "litellm",
    "msgspec", "mypy", "numpy", "openai", "opentelemetry", "orjson", "pydantic", "pytest", "redis", "requests", "rich",
    "starlette", "uvicorn", "uvloop", "yaml",
}  # fmt: skip

# Words that once had several private meanings, and what to write instead.
PRIVATE_WORDS = {
    "told": "rendered, redacted, message, summary",
    "said": "text, answer, message",
    "heard": "received",
    "spoken": "visible, rendered",
    "hush": "redaction",
    "desk": "core",
    "manner": "spec, flavour, kind",
    "manners": "specs",
    "voice": "style",
    "errand": "context",
    "torn": "split",
    "mended": "repaired, fixed",
    "wish": "request",
    "wishes": "requests",
    "patience": "timeout",
}

GLOSSARY_LIMIT = 25

# "None where there is none": a reader who learnt English later takes "where" for a place.
CONDITION = re.compile(r"\b(?:None|True|False|empty|nothing|none|even|also|fails?|skipped|Raises? \w+)\s+where\s+\w")


def modules() -> Iterator[tuple[str, Iterable[ast.AST]]]:
    """The path of each module, and its nodes."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield str(path.relative_to(SOURCE)), syntax_nodes(path)


def shared_classes() -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for path, nodes in modules():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_classes_share_a_name() -> None:
    found = shared_classes()
    shared = {name: places for name, places in found.items() if name not in SHARED_CLASSES}
    assert shared == {}, "give each a name of its own"
    assert sorted(SHARED_CLASSES.keys() - found.keys()) == [], "no longer shared: remove it from the list"


def test_no_module_hides_a_well_known_one() -> None:
    known = (sys.stdlib_module_names | WELL_KNOWN) - {"__main__"}
    paths = [*SOURCE.rglob("*.py"), *(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)]
    found = {str(path.relative_to(SOURCE)) for path in paths if path.stem in known}
    assert sorted(found - SHADOWING_MODULES.keys()) == [], "rename it: a reader takes it for the famous one"
    assert sorted(SHADOWING_MODULES.keys() - found) == [], "no longer there: remove it from the list"


def defined_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Every name that a module defines: classes, functions, parameters, variables, fields, and other names for what it
    imports."""
    for node in nodes:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.alias(asname=str()):
                yield node.asname, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno


_IMPORTED_FROM_TESTS = re.compile(r"^[ \t]*(from tests\.[\w.]+ import (?:\([^)]*\)|[^\n(]+))", re.MULTILINE)


def shared_test_names() -> Iterator[tuple[str, int, str]]:
    """The names that a module of the tests takes from another one."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text("utf-8")
        for found in _IMPORTED_FROM_TESTS.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            for node in ast.walk(ast.parse(found[1])):
                if isinstance(node, ast.alias):
                    yield str(path.relative_to(ROOT)), line, node.asname or node.name


def words(name: str) -> list[str]:
    """`_hearText2` and `HEAR_TEXT` both give `hear`, `text`."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def private_words(name: str) -> list[str]:
    return [f"{name} (write {PRIVATE_WORDS[word]})" for word in words(name) if word in PRIVATE_WORDS]


def test_names_use_no_private_words() -> None:
    assert words("_hear_TextOf2") == ["hear", "text", "of"]
    assert private_words("path_wishes") == ["path_wishes (write requests)"]
    found = [
        f"{path}:{line}: {private}"
        for path, nodes in modules()
        for name, line in defined_names(nodes)
        for private in private_words(name)
    ]
    assert found == []


def test_names_of_files_and_names_that_tests_share_use_no_private_words() -> None:
    files = [path for folder in (SOURCE, ROOT / "tests") for path in sorted(folder.rglob("*.py"))]
    found = [f"{path.relative_to(ROOT)}: {private}" for path in files for private in private_words(path.stem)]
    found += [
        f"{path}:{line}: {private}" for path, line, name in shared_test_names() for private in private_words(name)
    ]
    assert found == []


def test_texts_say_if_for_a_condition() -> None:
    assert CONDITION.search("The name; None where it has none.")
    found = [
        f"{path.relative_to(ROOT)}: {condition}"
        for folder in (SOURCE, ROOT / "tests")
        for path in sorted(folder.rglob("*.py"))
        if path != Path(__file__)
        for condition in CONDITION.findall(path.read_text("utf-8"))
    ]
    assert found == [], "write `if` for a condition; `where` is for a place"


def test_the_map_of_the_architecture_is_complete() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    mapped = set(re.findall(r"^  (\w+)/ ", text, re.MULTILINE))
    assert mapped == {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    inner = {path.parent for path in SOURCE.glob("*/*/__init__.py")} - {*SOURCE.glob("emulators/*")}
    rooms = {path.name for path in inner if not (path / "dialect.py").exists()}
    text = text.partition("**Imports point")[0]
    assert {name for name in rooms if f"{name}/" not in text} == set(), "the map says what each folder is for"


def test_the_glossary_is_short() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("## Glossary", 1)[1]
    entries = re.findall(r"^\| ([a-z ]+) \| (.+) \|$", text, re.MULTILINE)[1:]
    assert 10 < len(entries) <= GLOSSARY_LIMIT
    assert [word for word, _ in entries] == sorted(word for word, _ in entries)
    assert [word for word, meaning in entries if not meaning.endswith(".")] == []
