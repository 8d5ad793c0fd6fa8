"""Write the reference from the code: rules, facts, errors, commands, profiles, the script notation, the steps.

python docs/generate.py            writes docs/reference, and the drawing in docs/theory/exchange.md
python docs/generate.py --check    fails where it is stale
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from dragoman import errors
from dragoman.cli import cli
from dragoman.config.reference import ITEM, reference
from dragoman.conversation.notation import script
from dragoman.engine.compile.plan import FAITHFUL_CLIENT, context_for, rules_for
from dragoman.engine.exchange.steps import STEPS
from dragoman.engine.library.explain import describe_fact
from dragoman.gateway.http.openapi import describe_unserved
from dragoman.gateway.routes import ROUTES
from dragoman.profiles.doubts import facts_of_form
from dragoman.profiles.facts import Facts, Stance, list_questions
from dragoman.profiles.models import ModelEntry, ModelThinking, catalogue
from dragoman.profiles.profile import Profiles
from dragoman.rules import BY_NAME, GROUPS
from dragoman.rules.rule import FAIL, KEEP, Rule

FOLDER = Path(__file__).parent / "reference"
ELSEWHERE = {"mutants.md"}
"""Pages that another program writes: `make mutants` needs a minute for its own."""
DRAWN = Path(__file__).parent / "theory" / "exchange.md"
"""The page with the drawing of the steps."""
_DRAWING = re.compile(r"(?<=<!-- steps: written by docs/generate.py -->\n)```text\n.*?```\n", re.DOTALL)
NOTE = "<!-- Written by docs/generate.py from the code; do not edit. -->"
CONFIG = "`dragoman init` writes a commented example; `dragoman config check` names every mistake with its line."
FACT_FIELDS = {field.name: field for field in msgspec.structs.fields(Facts)}
METHODS = {"medium": "media", "setting": "settings"}
_READ = re.compile(r"\bfacts\.(\w+)")
_IMPORT = re.compile(r"^from (dragoman\.rules\.\w+) import ([\w, ]+|\([^)]*\))", re.MULTILINE)


def config_tables() -> str:
    """The keys of the configuration, as one table per section."""
    lines: list[str] = []
    section = None
    for row in reference():
        head = row.path.partition(".")[0].removesuffix(ITEM)
        if head != section:
            section = head
            lines += ["", f"## `{head}`", "", "| key | type | default | meaning |", "|---|---|---|---|"]
        cells = (f"`{row.path}`", row.type, f"`{row.default}`" if row.default else "", row.meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines).lstrip() + "\n"


def main(arguments: list[str]) -> int:
    pages = written()
    if "--check" in arguments:
        return check(pages)
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages.items():
        (FOLDER / name).write_text(text, "utf-8")
    DRAWN.write_text(drawn_page(), "utf-8")
    return 0


def check(pages: dict[str, str]) -> int:
    """How many pages are stale, each named."""
    there = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md") if path.name not in ELSEWHERE}
    stale = sorted(name for name in {*pages, *there} if pages.get(name) != there.get(name))
    for name in stale:
        print(f"docs/reference/{name} is stale; run: python docs/generate.py", file=sys.stderr)
    if DRAWN.read_text("utf-8") != drawn_page():
        print("docs/theory/exchange.md is stale; run: python docs/generate.py", file=sys.stderr)
        return 1
    return 1 if stale else 0


def drawn_page() -> str:
    """The page of the exchange with the steps as they are."""
    text, count = _DRAWING.subn(lambda _: f"```text\n{drawn_steps()}\n```\n", DRAWN.read_text("utf-8"))
    assert count == 1, "the page has one place for the drawing"
    return text


def drawn_steps() -> str:
    """The table of steps: under each what the driver does, and to which steps its answers lead."""
    lines = []
    for row in STEPS:
        lines.append(f"{row.step.__name__ if row.step is not None else '(begin)':<14}the driver {row.driver}")
        for verb, steps in row.verbs.items():
            following = ", ".join([step.__name__ if step is not None else "(end)" for step in steps])
            lines.append(f"  {f'{verb} ':─<16}─► {following}")
    return "\n".join(lines)


def written() -> dict[str, str]:
    """Every page by its file name."""
    return {
        "README.md": index_page(),
        "rules.md": rules_page(),
        "facts.md": facts_page(),
        "profiles.md": profiles_page(),
        "models.md": models_page(),
        "compatibility.md": compatibility_page(),
        "errors.md": errors_page(),
        "commands.md": commands_page(),
        "config.md": page("Configuration", CONFIG, config_tables()),
        "routes.md": routes_page(),
        "script.md": script_page(),
    }


def page(title: str, *blocks: str) -> str:
    return "\n\n".join((NOTE, f"# {title}", *(block.strip("\n") for block in blocks))) + "\n"


def index_page() -> str:
    pages = (
        ("commands", "Commands", "what can be called, with every option"),
        ("rules", "Rules", "every defect that is repaired"),
        ("facts", "Facts", "everything in which providers and models differ"),
        ("profiles", "Profiles", "the providers that are known"),
        ("models", "Models", "what each model can do: thinking, structured output, sizes"),
        ("compatibility", "Compatibility", "who takes what, and who needs it repaired"),
        ("config", "Configuration", "every key of `dragoman.yaml`"),
        ("routes", "Routes", "every path that the gateway serves, and who may call it"),
        ("script", "Script", "conversations as lines"),
        ("errors", "Errors", "everything that can be raised"),
        ("mutants", "Mutants", "which test fails when a rule or a lesson is broken"),
    )
    listed = "\n".join(f"- [{title}]({name}.md): {about}" for name, title, about in pages)
    return page("Reference", "Generated from the code; `make check` fails where it is stale.", listed)


# Rules


def rules_page() -> str:
    intro = (
        f"Rules run in this order: {' → '.join(GROUPS)}. A rule runs where the target's facts call for it and the "
        f"conversation shows the defect. Every rule takes `{KEEP}` (leave the defect alone) and `{FAIL}` (refuse the "
        "request) besides the options named with it."
    )
    blocks = [intro]
    for group, members in GROUPS.items():
        blocks.append(f"## {group}")
        blocks += [_rule(rule) for rule in members]
    return page("Rules", *blocks)


def _rule(rule: Rule) -> str:
    options = [f"`{option}`" for option in rule.options] + (["any text"] if rule.free else [])
    facts = [f"[`{name}`](facts.md)" for name in sorted(facts_read(rule))]
    lines = [f"### {rule.name}", _with_examples(rule.text)]
    if options:
        lines.append(f"Options: {', '.join(options)}; {'off' if rule.optional else options[0]} unless chosen.")
    if facts:
        lines.append(f"Reads {', '.join(facts)}.")
    return "\n\n".join(lines)


def _with_examples(text: str) -> str:
    """The page of a rule, with its examples as blocks."""
    fenced = re.sub(r"(?:^ {4}.*(?:\n|$))+", lambda found: _fenced(found[0]), text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", fenced).rstrip()


def _fenced(lines: str) -> str:
    content = textwrap.dedent(lines).strip("\n")
    return f"\n```{'json' if content.startswith('{') else 'text'}\n{content}\n```\n\n"


def facts_read(rule: Rule) -> set[str]:
    """The facts that the source of a rule mentions, that of the functions it borrows from others included."""
    module = inspect.getmodule(rule.repair)
    if module is None:
        return set()
    source = inspect.getsource(module)
    borrowed = (getattr(sys.modules[home], name) for home, names in _IMPORT.findall(source) for name in _words(names))
    sources = [source, *(inspect.getsource(one) for one in borrowed if inspect.isfunction(one))]
    found = {METHODS.get(word, word) for text in sources for word in _READ.findall(text)}
    return found & set(Facts.__struct_fields__) - {"dialect"}


def _words(names: str) -> list[str]:
    return re.findall(r"\w+", names)


# Facts


_ASKED_BY = """Where a conversation can ask a server or a chat template for a fact, *asked by* is its script: turns with
semicolons between them. `call a b` makes two calls and `result b a` answers them; `-` is no content, `[Good|evening.]`
two texts, and ` @name=ann` one more field. Other facts are asked for in the words of a dialect, or
[not at all](../guide/probing.md#what-cannot-be-seen-from-outside)."""
_FACT_HEAD = ("fact", "type", "default", "about", "asked by", "read by", "evidence")


def facts_page() -> str:
    readers: dict[str, list[str]] = {}
    for rule in BY_NAME.values():
        for fact in facts_read(rule):
            readers.setdefault(fact, []).append(rule.name)
    said = dict(_evidence())
    blocks = [inspect.cleandoc(inspect.getmodule(Facts).__doc__ or ""), _ASKED_BY]
    for section, names in _sections():
        rows = [_fact(name, readers.get(name, []), said.get(name, "")) for name in names]
        blocks.append(f"## {section}\n\n" + table(_FACT_HEAD, rows))
    return page("Facts", *blocks)


def _sections() -> Iterator[tuple[str, list[str]]]:
    """The catalogue by the headings that its source has."""
    for block in re.split(r"\n    # ", inspect.getsource(Facts))[1:]:
        heading, _, body = block.partition("\n")
        yield heading, re.findall(r"^    (\w+): Annotated", body, re.MULTILINE)


def _fact(name: str, readers: list[str], said: str) -> tuple[str, ...]:
    field = FACT_FIELDS[name]
    read = ", ".join(f"[{reader}](rules.md#{reader})" for reader in readers)
    how = list_questions().get(name)
    script = f"`{how.script or how.tools}`" if how is not None else ""
    about = f"{describe_fact(name)} (form alone)" if name in facts_of_form() else describe_fact(name)
    return (f"`{name}`", _type(field.type), _default(field), about, script, read, said)


def _type(annotation: Any) -> str:
    plain = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        return ", ".join(f"`{value}`" for value in plain)
    return {"str": "text", "int": "number", "bool": "yes or no"}.get(getattr(plain, "__name__", ""), "") or _table(
        plain
    )


def _table(plain: Any) -> str:
    inner = get_args(plain)
    return "list" if inner and inner[-1] is Ellipsis else "table"


def _default(field: Any) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if value in ("", (), {}):
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"`{text}`"


def _evidence() -> Iterator[tuple[str, str]]:
    """For each fact the words of one provider; the first by name that has any."""
    profiles = Profiles()
    for name in reversed(profiles.names()):
        for entry in profiles.profile(name).evidence:
            if entry.says:
                yield entry.fact.partition(".")[0], f"{name}, {entry.seen}: “{entry.says}”"


# Profiles


def profiles_page() -> str:
    known = Profiles()
    rows = []
    for name in known.names():
        profile = known.profile(name)
        keys = ", ".join(f"`{key}`" for key in profile.key.names)
        rows.append((f"`{name}`", profile.title, profile.dialect, profile.url, keys, str(len(profile.evidence))))
    intro = (
        "A target is written `PROFILE/MODEL`. `dragoman profiles NAME` shows each fact, its origin and its evidence."
    )
    return page("Profiles", intro, table(("profile", "title", "dialect", "address", "key", "evidence"), rows))


# Models


def models_page() -> str:
    intro = (
        "A model is found by the pattern with the most letters, anywhere behind a slash, a dot or a dash: aggregators, "
        "clouds, dated names and deployments are found too. A profile takes from this catalogue what holds on its "
        "endpoint. *Told to think*: the form in which the maker's own API is told, and what it offers."
    )
    head = ("models", "told to think", "thinks by default", "formats", "reads", "window", "answer")
    blocks = [intro]
    vendors = sorted({model.vendor for model in catalogue()})
    for vendor in vendors:
        rows = [_model_row(model) for model in catalogue() if model.vendor == vendor]
        blocks += [f"## {vendor or 'others'}", table(head, rows)]
    dates = sorted({str(model.seen) for model in catalogue()})
    sources = sorted({source for model in catalogue() for source in model.sources})
    blocks += [f"Seen {', '.join(dates)}. Sources:", "\n".join(f"- {source}" for source in sources)]
    return page("Models", *blocks)


def _model_row(model: ModelEntry) -> tuple[str, ...]:
    formats = ", ".join(model.formats)
    if model.format_with_tools is Stance.REFUSES:
        formats += "; not beside tools"
    sizes = (str(number) if number else "" for number in (model.context_window, model.output_limit))
    names = ", ".join(f"`{glob}`" for glob in model.globs)
    default = "yes" if model.thinking.default else ""
    return (names, _told(model.thinking), default, formats, ", ".join(model.input), *sizes)


def _told(thinking: ModelThinking) -> str:
    if thinking.asked is not Stance.ACCEPTS or thinking.form is None:
        return "no" if thinking.asked is Stance.REFUSES else "not known"
    said = [thinking.form.value, *([", ".join(thinking.efforts)] if thinking.efforts else [])]
    if thinking.budget_min or thinking.budget_max:
        said.append(f"{thinking.budget_min} to {thinking.budget_max or 'the limit'} tokens")
    if thinking.off is Stance.REFUSES:
        said.append("never off")
    return "; ".join(said)


# Compatibility


def compatibility_page() -> str:
    """Written from the facts: nobody has to keep it true by hand."""
    called = {name: _called_for(name) for name in Profiles().names()}
    intro = (
        "For each defect that a conversation may have, the profiles for which it must be repaired when the client "
        "speaks their own dialect; all others take it as it is. Models in brackets: for these alone, or (`but`) for "
        "all but these. The facts behind it, with evidence and date: `dragoman profiles NAME`."
    )
    blocks = [intro]
    for group, members in GROUPS.items():
        rows = [_compatibility(rule, called) for rule in members]
        blocks.append(f"## {group}\n\n" + table(("rule", "defect", "needed for"), rows))
    return page("Compatibility", *blocks)


def _called_for(name: str) -> dict[str, set[str]]:
    """The rules that a profile calls for: of models that nothing special is known of (``), and by each family."""
    profiles = Profiles()
    families = [(", ".join(models.globs), models.globs[0]) for models in profiles.profile(name).models]
    samples = [("", "some-model"), *((title, glob.replace("*", "")) for title, glob in families)]
    return {title: _rules_of(profiles, f"{name}/{model or 'some-model'}") for title, model in samples}


def _rules_of(profiles: Profiles, target: str) -> set[str]:
    return {rule.name for rule in rules_for(context_for(profiles.target(target), FAITHFUL_CLIENT))}


def _compatibility(rule: Rule, called: dict[str, dict[str, set[str]]]) -> tuple[str, ...]:
    needed = list(filter(None, [_needing(name, rule.name, families) for name, families in called.items()]))
    everybody = needed == [f"`{name}`" for name in called]
    defect = rule.text.partition("\n\n")[0]
    return f"[{rule.name}](rules.md#{rule.name})", defect, "all" if everybody else ", ".join(needed)


def _needing(name: str, rule: str, families: dict[str, set[str]]) -> str:
    usual = rule in families[""]
    others = [title for title, rules in families.items() if title and (rule in rules) is not usual]
    if not others:
        return f"`{name}`" if usual else ""
    listed = ", ".join(f"`{other}`" for other in others)
    return f"`{name}` ({'but ' if usual else ''}{listed})"


# The rest


def errors_page() -> str:
    tree = inspect.cleandoc(errors.__doc__ or "")
    return page("Errors", "```text\n" + tree + "\n```")


def routes_page() -> str:
    """Who may call what."""
    intro = (
        "Everything that the gateway answers, and who may call it. **open**: everybody. **key**: every key, whose "
        "`allowed_endpoints` has the path. **admin**: admin keys, and a key whose `allowed_endpoints` names just this "
        "path. Without keys, everybody on this machine may call everything, and pages of elsewhere nothing. `GET` "
        "answers `HEAD` too. Paths of a dialect are served under its other prefixes as well, such as `/v1`."
    )
    rows = [f"| {route.access} | `{route.method}` | `{route.path}` | {route.says} |" for route in ROUTES if route.says]
    served = "\n".join(["| for | method | path | what it does |", "|---|---|---|---|", *rows])
    more = (
        "## Other paths of the vendors\n\nWhat clients of a vendor ask for beside plain requests, for every key. "
        "What is not served gets a refusal that says what to do instead."
    )
    others = [
        f"| {', '.join(f'`{method.upper()}`' for method in one)} | `{path}` | {next(iter(one.values()))['summary']} |"
        for path, one in describe_unserved().items()
    ]
    return page(
        "Routes", intro, served, more, "\n".join(["| method | path | what it does |", "|---|---|---|", *others])
    )


def script_page() -> str:
    head, _, rest = inspect.cleandoc(script.__doc__ or "").partition("\n\n")
    example, _, rules = rest.partition("\n\n")
    return page("Script", head, f"```text\n{inspect.cleandoc(example)}\n```", rules)


def commands_page() -> str:
    context = click.Context(cli, info_name="dragoman", terminal_width=100, **cli.context_settings)
    intro = (
        "Exit codes: 0 done, 1 findings or refused input, 2 wrong usage. Errors are one line: what, where, what to do."
    )
    return page("Commands", intro, *_commands(cli, context))


def _commands(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```"
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if inner is not None:
            yield from _commands(inner, click.Context(inner, parent=context, info_name=name, terminal_width=100))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines: list[Sequence[str]] = [head, ["---" for _ in head], *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in lines
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
