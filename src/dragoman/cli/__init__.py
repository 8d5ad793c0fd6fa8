"""The `dragoman` command. Each of its commands is a module that is loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from dragoman import __version__
from dragoman.cli.console import complain
from dragoman.errors import DragomanError, OptionError, TargetError, near_match

COMMANDS = {
    "adapt": "Compile requests for a target; show the body and what was changed.",
    "lint": "Say what targets would refuse in requests, and why.",
    "explain": "Say in sentences what is changed for a target.",
    "rules": "List the rules, or show the page of one.",
    "profiles": "List the profiles, or show each fact of one with its evidence.",
    "demo": "Show refusal, repair and answer on emulated providers.",
    "serve": "Run the gateway.",
    "init": "Write an example configuration.",
    "config": "Check and show the configuration.",
    "keys": "Make, list and revoke client keys.",
    "import": "Translate another gateway's configuration.",
    "emulate": "Serve strict imitations of providers.",
    "replay": "Send a recorded failure again.",
}
"""What can be called, in the order in which a newcomer needs it. A command is in the module of its name."""

NEEDS_NAMES = frozenset({"config", "import", "init", "keys", "serve"})
"""Commands that check a configuration against the rules, facts and profiles there are."""

WRONG_USAGE = (TargetError, OptionError)


class Commands(click.Group):
    """A group that loads a command only when it is called, and tells every error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in COMMANDS if _is_there(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS or not _is_there(cmd_name):
            return None
        name = _attribute(cmd_name)
        found: click.Command = getattr(import_module(_module(cmd_name)), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise click.UsageError(f'no command is called "{args[0]}"; {near_match(args[0], self.list_commands(ctx))}')
        return super().resolve_command(ctx, args)

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run it. Exit codes: 0 done, 1 findings or refused input, 2 wrong usage."""
        alone = extra.pop("standalone_mode", True)
        if not alone:
            return super().main(args, prog_name, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, standalone_mode=False, **extra)
        except click.ClickException as fault:
            _tell_click(fault)
            sys.exit(fault.exit_code)
        except DragomanError as fault:
            for line in getattr(fault, "problems", (fault,)):
                complain(str(line))
            sys.exit(2 if isinstance(fault, WRONG_USAGE) else 1)
        except BrokenPipeError:
            _leave_quietly()
        except click.Abort:
            complain("interrupted")
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dragoman")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Any conversation works on any model, and nothing is changed behind your back."""
    if ctx.invoked_subcommand in NEEDS_NAMES:
        from dragoman.cli.known_names import known_names

        ctx.obj = known_names()


def main() -> None:
    """The console script. A fault of our own is told in one line too, unless DRAGOMAN_TRACEBACK asks for all of it."""
    try:
        cli.main()
    except Exception as fault:
        if os.environ.get("DRAGOMAN_TRACEBACK"):
            raise
        complain(f"a fault of dragoman's own: {type(fault).__name__}: {fault} (DRAGOMAN_TRACEBACK=1 shows where)")
        sys.exit(1)


def _module(command: str) -> str:
    return f"dragoman.cli.{_attribute(command)}"


def _attribute(command: str) -> str:
    return "import_" if command == "import" else command


def _is_there(command: str) -> bool:
    return find_spec(_module(command)) is not None


def _tell_click(fault: click.ClickException) -> None:
    ctx = getattr(fault, "ctx", None)
    message = fault.format_message()
    if not isinstance(fault, click.UsageError):
        complain(message)
    elif ctx is not None and (not message or isinstance(fault, NoArgsIsHelpError)):
        click.echo(ctx.get_help(), err=True)
    else:
        path = ctx.command_path if ctx is not None else "dragoman"
        where = path.removeprefix("dragoman").strip()
        complain(f"{f'{where}: ' if where else ''}{message.rstrip('.')} (see `{path} --help`)")


def _leave_quietly() -> NoReturn:
    """Whoever read our output has gone. Python would complain once more when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
