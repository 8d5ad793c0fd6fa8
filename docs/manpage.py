"""Write the manual page dragoman(1) from the commands themselves.

python docs/manpage.py [FILE]      writes build/man/dragoman.1, or FILE
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from dragoman import __version__
from dragoman.cli import COMMANDS, cli

FILE = Path(__file__).parents[1] / "build" / "man" / "dragoman.1"
ABOUT = (
    "Dragoman is a compiler between LLM clients and LLM providers. It takes a request in the dialect of any client, "
    "repairs what the target would refuse, reports every change, sends it with retries, corrections and fallbacks, and "
    "translates the answer or stream back."
)
EXIT_CODES = {"0": "Done.", "1": "There are findings, or the input was refused.", "2": "The command was used wrongly."}
FILES = {
    "dragoman.yaml": "The configuration; \\fBdragoman init\\fR writes one that explains every key.",
    "dragoman.sqlite3": "What outlives a request: the ledger, reasoning state, lessons. Beside the configuration.",
    "logs/provider_errors.jsonl": "Refusals of providers, for \\fBdragoman replay\\fR.",
}
ENVIRONMENT = {
    "ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, ...": "Keys of providers. Without a configuration, the gateway "
    "uses the providers whose keys are set.",
    "DRAGOMAN_OTEL": "1 sends OpenTelemetry spans.",
    "DRAGOMAN_TRACEBACK": "1 prints internal errors with their traceback.",
}


def main(arguments: list[str]) -> int:
    file = Path(arguments[0]) if arguments else FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(manual_page(), "utf-8")
    print(file)
    return 0


def manual_page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f'.TH DRAGOMAN 1 "" "dragoman {__version__}" "User Commands"'
    yield from (".SH NAME", "dragoman \\- any conversation works on any model, and nothing is changed behind your back")
    yield from (".SH SYNOPSIS", ".B dragoman", ".I COMMAND", "[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]")
    yield from (".SH DESCRIPTION", _escaped(ABOUT), ".SH COMMANDS")
    top = click.Context(cli, info_name="dragoman")
    for name in COMMANDS:
        command = cli.get_command(top, name)
        if command is not None:
            yield from _command(command, click.Context(command, info_name=name, parent=top))
    for title, entries in (("EXIT STATUS", EXIT_CODES), ("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        for term, text in entries.items():
            yield from _entry(f"\\fB{_escaped(term)}\\fR", text)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".SS {_escaped(context.command_path)} {_escaped(usage)}"
    for paragraph in (command.help or "").replace("\b\n", "").split("\n\n"):
        yield from (_escaped(" ".join(paragraph.split())), ".PP")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None and "--help" not in record[0]:
            yield from _entry(f"\\fB{_escaped(record[0])}\\fR", _escaped(record[1]))
    for name, inner in getattr(command, "commands", {}).items():
        yield from _command(inner, click.Context(inner, info_name=name, parent=context))


def _entry(term: str, text: str) -> Iterator[str]:
    yield from (".TP", term, " ".join(text.split()) or "\\&")


def _escaped(text: str) -> str:
    """Plain text for roff: no escapes, no macros, letters beyond ASCII by number, hyphens that can be copied."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    safe = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in plain)
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
