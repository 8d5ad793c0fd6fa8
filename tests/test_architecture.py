"""Imports point one way, nothing pure reaches for a network, a clock or the environment, and names stand in one place.

Every test looks at all files and reports all offenders at once.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import filter as filter_names
from functools import cache
from pathlib import Path

import pytest
from tests.source_trees import syntax_nodes, syntax_tree

from dragoman.conversation.dialect_names import DIALECT_NAMES

REPOSITORY = Path(__file__).resolve().parents[1]
ROOT = REPOSITORY / "src" / "dragoman"

LAYERS = {
    "errors": 0,
    "conversation": 1,
    "wire": 2,
    "dialects": 3,
    "profiles": 3,
    "transcripts": 3,
    "rules": 4,
    "engine": 5,
    "config": 6,
    "store": 7,
    "upstream": 7,
    "probe": 8,
    "emulation": 8,
    "gateway": 9,
    "integrations": 9,
    "verification": 10,
    "cli": 11,
}
PURE = ("conversation", "wire", "dialects", "profiles", "transcripts", "rules", "engine")
PROBE_EDGES = ("live", "template")
"""Packages of the probe that reach for sockets, processes and clocks. What it asks and decides is pure."""
EDGES = {"asyncio", "http", "httpx", "os", "random", "requests", "secrets", "socket", "ssl", "time", "urllib3", "uuid"}
PROVIDERS = {path.stem for path in (ROOT / "profiles" / "data").glob("*.toml")} - {*DIALECT_NAMES, "auto"}
"""Names that are a dialect's too are looked for on their own. `auto` is nobody's name, and a word of many settings."""

DIALECTS = ROOT / "dialects"
PACKAGES = sorted(path.parent for path in DIALECTS.glob("*/dialect.py"))
CORE = {
    "dialect",
    "schema",
    "settings",
    "tools",
    "request",
    "message_parse",
    "message_render",
    "answer_parse",
    "answer_render",
    "stream",
}
"""What every dialect has, so that who knows one finds the way in another."""
OFTEN = {"__init__", "provider_tools", "relay_rewrite"}
"""What some dialects have. With the others these are a dozen names, the same in all dialects."""
HALL = 20
"""The most files that a folder of code may have. Above about twenty, nobody sees what its job is."""
MOST_POSITIONAL = 5
"""What comes after so many arguments is given by its name."""
MOST_UNNAMED = 6
"""The most values of a struct that are given by position."""
BY_POSITION = {"Entry", "_Line"}
"""Structs of every request's record with dozens of values. `test_ledger_fields` checks the place of each."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

EMULATORS = {"responses": "openai-responses"}
"""The dialect of an emulator's package that is not called after it."""

MAY_NAME_A_DIALECT = {
    "conversation/dialect_names.py": "the Literal type: the one place for all names",
    "config/importers/claude_code_router.py": "maps another program's words for wire formats to profiles",
    "config/importers/lazyrouter.py": "maps another program's words for wire formats to profiles",
    "config/importers/litellm.py": "maps another program's provider prefixes to profiles",
    "config/importers/nnp.py": "maps another program's provider names to profiles",
    "config/importers/ollama_server.py": "maps another program's addresses of a server to its two profiles",
    "config/schema/providers.py": "a profile's name, as an example in the reference",
    "rules/schema/forms.py": "forms of schemas, which a fact chooses by these names",
    "transcripts/gemini_cli.py": "the type of the model's messages in another program's files",
    "transcripts/catalogue.py": "formats of files, each with the dialect of its requests",
    "emulation/emulator_fallback.py": "profiles' names, each with the models that it shows",
    "cli/checkup/machine.py": "packages of SDKs, which are called like dialects",
    "cli/commands/providers/emulate.py": "emulators' names, in the order in which they are listed",
    "emulation/emulator_verdict.py": "emulators' names, for profiles that have no emulator of their own",
    "cli/commands/providers/demo.py": "profiles' names, in the order in which the demo shows them",
    "emulators/catalogue.py": "emulators' names",
    "emulators/chat/openrouter/emulator.py": "the names of vendors in OpenRouter's models",
    "emulators/chat/openrouter/upstreams.py": "the names of vendors in OpenRouter's models",
}
"""Files outside a dialect's own package that may hold its name as a string, and why."""


FILES = sorted(ROOT.rglob("*.py"))


def package(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Every module that is imported, wherever in the file."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in syntax_nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def wrong_import(mine: str, module: str) -> bool:
    if not module.startswith("dragoman."):
        return False
    theirs = module.split(".")[1]
    if mine == "emulators":
        return theirs != "emulators"
    if mine in PURE and theirs in ("emulators", "testing"):
        return True
    return mine in LAYERS and theirs in LAYERS and mine != theirs and LAYERS[theirs] >= LAYERS[mine]


def test_imports_point_one_way() -> None:
    wrong = [(str(path), module) for path in FILES for module in imports(path) if wrong_import(package(path), module)]
    assert wrong == [], "ARCHITECTURE.md says who may import whom"


def imports_outside_functions(path: Path, *, with_types: bool = False) -> Iterator[str]:
    """What is imported when a module is loaded; `with_types`: also what only a type checker imports."""
    nodes: list[ast.AST] = [syntax_tree(path)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.ImportFrom):
            start = ["dragoman", *path.relative_to(ROOT).parts[: -node.level]] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            yield from (module, *(f"{module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            nodes += node.body if with_types else ()
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            nodes += [one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.stmt, ast.excepthandler))]


def test_no_two_modules_use_each_other() -> None:
    """Not by way of others either, nor inside a function, nor for types alone."""
    names = {path: ".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in FILES}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    known = set(names.values())
    uses: dict[str, set[str]] = {}
    for path, name in names.items():
        found = known.intersection((*imports_outside_functions(path, with_types=True), *imports(path)))
        uses[name] = {other for other in found if not f"{name}.".startswith(f"{other}.")}  # its own package's face
    assert sum(map(len, uses.values())) > 5000

    @cache
    def reach(start: str) -> set[str]:
        seen, ahead = {start}, [start]
        while ahead:
            found = uses[ahead.pop()] - seen
            seen |= found
            ahead += found
        return seen

    mutual = [f"{name} uses {other}" for name in uses for other in uses[name] if name in reach(other)]
    assert mutual == [], "move what both need into a module beneath them, or let one get it as an argument"


def is_pure_probe(path: Path) -> bool:
    return package(path) == "probe" and path.relative_to(ROOT).parts[1] not in PROBE_EDGES


def test_the_gateway_does_not_know_its_console() -> None:
    """Only the list of routes names the console's endpoints, and loads them with the first request for one."""
    inside = [path for path in FILES if path.is_relative_to(ROOT / "gateway" / "console")]
    outside = [path for path in FILES if package(path) == "gateway" and path not in inside]
    assert inside
    assert [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in outside
        for module in imports(path)
        if module.startswith("dragoman.gateway.console")
    ] == []


def test_only_the_public_api_of_uvicorn_is_used() -> None:
    """Its `Config` and its `Server`. Its protocols are its own business, and may change with every version."""
    named = {
        node.attr
        for path in FILES
        for node in syntax_nodes(path)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "uvicorn"
    }
    assert named == {"Config", "Server"}
    assert {module for path in FILES for module in imports(path) if module.split(".")[0] == "uvicorn"} == {"uvicorn"}


def test_what_is_pure_reaches_for_nothing() -> None:
    pure = [path for path in FILES if package(path) in PURE or is_pure_probe(path)]
    assert len(pure) > 200
    reached = [(str(path), module) for path in pure for module in imports(path) if module.split(".")[0] in EDGES]
    assert reached == [], "a caller at the edge asks for it, and passes the value on"


def test_no_providers_name_stands_in_a_condition() -> None:
    asked = [path for path in FILES if package(path) in ("rules", "engine", "gateway", "upstream", "probe")]
    found = [
        (str(path), node.lineno, inner.value)
        for path in asked
        for node in syntax_nodes(path)
        if isinstance(node, ast.Compare)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and inner.value in PROVIDERS
    ]
    assert found == [], "state a fact in the provider's profile, and ask for the fact"


def named_dialects(path: Path) -> set[str]:
    """The dialects that are named by a string in this file, other than the file's own package or emulator."""
    own = {EMULATORS.get(name, name.replace("_", "-")) for name in path.relative_to(ROOT).parts[1:-1]}
    strings = {node.value for node in syntax_nodes(path) if isinstance(node, ast.Constant)}
    return {name for name in DIALECT_NAMES if name in strings and name not in own}


def test_a_dialects_name_stands_in_its_own_package_and_in_one_list() -> None:
    naming = {path.relative_to(ROOT).as_posix() for path in FILES if named_dialects(path)}
    assert naming - MAY_NAME_A_DIALECT.keys() == set(), "ask the `Dialect` value, or give it a member that says it"
    assert MAY_NAME_A_DIALECT.keys() - naming == set(), "these need no exception any more"


def test_every_dialect_is_one_package_with_the_same_files() -> None:
    assert {path.name for path in PACKAGES} == {name.replace("-", "_") for name in DIALECT_NAMES}
    found = {path.name: {file.stem for file in path.glob("*.py")} for path in PACKAGES}
    missing = {name: CORE - files for name, files in found.items()}
    assert {name: files for name, files in missing.items() if files} == {}, "every dialect has these modules"
    own = {name: files - CORE - OFTEN for name, files in found.items()}
    assert {name: files for name, files in own.items() if files} == {}, "make a room of what one dialect has alone"


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_files_that_a_page_names_are_there(page: str) -> None:
    """`NAME`, `VIEW` and `VENDOR` stand for what the reader adds."""
    text = re.sub(r"```.*?```", "", (REPOSITORY / page).read_text(), flags=re.DOTALL)
    named = {word.rstrip("/") for word in re.findall(r"`([\w./-]*(?:/|\.py|\.toml)[\w./-]*)`", text)}
    found = {f"/{path.relative_to(REPOSITORY)}" for folder in ("src", "tests", "docs") for path in tree(folder)}
    found |= {f"/{path.name}" for path in REPOSITORY.iterdir()}
    globs = [f"*/{re.sub('NAME|VIEW|VENDOR', '*', word)}" for word in named]
    assert len(globs) > 10
    gone = [glob for glob in globs if not (filter_names(found, glob) or filter_names(found, f"{glob}.py"))]
    assert gone == [], f"{page} names files that are not there"


def tree(folder: str) -> Iterator[Path]:
    return (REPOSITORY / folder).rglob("*")


def test_no_rule_imports_another() -> None:
    groups = {path.parent.name for path in (ROOT / "rules").glob("*/*.py")} - {"schema"}
    across = [
        (path.relative_to(ROOT).as_posix(), module)
        for path in (ROOT / "rules").glob("*/*.py")
        for module in imports(path)
        if (parts := module.split("."))[:2] == ["dragoman", "rules"] and len(parts) == 4 and parts[2] in groups
    ]
    assert across == [], "what several rules share stands beside the groups, in `rules/`"


def test_no_room_is_a_hall() -> None:
    folders = Counter(path.parent.relative_to(ROOT).as_posix() for path in FILES)
    halls = {name: count for name, count in folders.items() if count > HALL}
    assert halls == {}, f"more than {HALL} files: make a folder of those with one job"


def test_nobody_counts_arguments() -> None:
    functions = [(path, node) for path in FILES for node in syntax_nodes(path) if isinstance(node, FUNCTIONS)]
    given = {(path.name, one.name): [*one.args.posonlyargs, *one.args.args] for path, one in functions}
    counts = {name: len([one for one in names if one.arg not in ("self", "cls")]) for name, names in given.items()}
    long = {name: count for name, count in counts.items() if count > MOST_POSITIONAL}
    assert long == {}, f"put a * after {MOST_POSITIONAL} arguments, or make a struct of them"


def test_values_of_a_long_struct_are_named() -> None:
    classes = [node for path in FILES for node in syntax_nodes(path) if isinstance(node, ast.ClassDef)]
    structs = {one.name for one in classes if not any(getattr(part, "name", "") == "__init__" for part in one.body)}
    made = [(path, node) for path in FILES for node in syntax_nodes(path) if isinstance(node, ast.Call)]
    counts = {
        f"{path.relative_to(ROOT)}:{node.lineno}": len(node.args)
        for path, node in made
        if isinstance(node.func, ast.Name) and node.func.id in structs - BY_POSITION
    }
    unnamed = {place: count for place, count in counts.items() if count > MOST_UNNAMED}
    assert unnamed == {}, "give the values by name"


def test_dialects_know_each_other_only_by_the_contract() -> None:
    packages = {path.name for path in PACKAGES}
    across = [
        (str(path), module)
        for path in DIALECTS.rglob("*.py")
        for module in imports(path)
        if (parts := module.split("."))[:2] == ["dragoman", "dialects"]
        and len(parts) > 2
        and parts[2] in packages
        and parts[2] != path.relative_to(DIALECTS).parts[0]
    ]
    assert across == [], "what two dialects share stands in `dialects/families`, what all do in `dialects/shared`"


def test_no_two_classes_of_the_dialects_share_a_name() -> None:
    classes = [
        node.name
        for path in DIALECTS.rglob("*.py")
        for node in syntax_tree(path).body
        if isinstance(node, ast.ClassDef)
    ]
    shared = [name for name, count in Counter(classes).items() if count > 1]
    assert shared == [], "put the dialect's name into the class's"


def test_dialects_parse_and_render_and_have_no_other_verbs_for_it() -> None:
    named = [
        (str(path), node.name)
        for path in DIALECTS.rglob("*.py")
        for node in syntax_nodes(path)
        if isinstance(node, ast.FunctionDef) and node.name.lstrip("_").startswith(("read_", "write_"))
    ]
    assert named == [], "`parse_` is wire to ours, `render_` is ours to wire"


LOADED = """
import sys
{code}
print(*(name for name in sys.modules if name.startswith("dragoman.dialects.")))
"""


def loaded(code: str) -> set[tuple[str, str]]:
    """The modules of the dialects' packages that are loaded after some code, each with its package."""
    ran = subprocess.run([sys.executable, "-c", LOADED.format(code=code)], capture_output=True, text=True, check=True)
    modules = [name.split(".")[2:] for name in ran.stdout.split()]
    return {(module[0], module[1]) for module in modules if len(module) >= 2}


LIGHT = {"dialect", "token_count", "model_list", "filter_marks"}
SHARED_ROOMS = {"shared", "families", "contracts"}


@pytest.mark.parametrize(
    ("code", "packages"),
    [
        ("import dragoman", set()),
        ("import dragoman.gateway.app", set()),
        ("from dragoman.dialects.registry import recognise; assert recognise({'contents': []}) == 'gemini'", set()),
        (
            "import dragoman; dragoman.adapt({'messages': [{'role': 'user', 'content': 'Hi'}]}, target='groq/x')",
            {"openai_chat", "near_misses"},  # the second is shared by all dialects
        ),
    ],
)
def test_codecs_are_loaded_when_they_are_used(code: str, packages: set[str]) -> None:
    found = {package for package, module in loaded(code) if module not in LIGHT}
    assert found - SHARED_ROOMS == packages
