"""The `dragoman` command. Each subcommand is a module that is imported on first use."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from dragoman import __version__
from dragoman.cli.output.console import print_error
from dragoman.errors import DragomanError, OptionError, TargetError, near_match
from dragoman.extras import missing_extra

COMMANDS = {
    "adapt": ("compile", "Compile requests for a target; show the body and the changes."),
    "lint": ("compile", "Show what targets would refuse in requests, and why."),
    "explain": ("compile", "Explain what is changed for a target, and why."),
    "route": ("compile", "Explain which model a route chooses for a request."),
    "rules": ("compile", "List the rules, or show the page of one."),
    "profiles": ("compile", "List the profiles, or show each fact of one with its evidence."),
    "probe": ("providers", "Find out what a server accepts, and write a profile."),
    "verify": ("providers", "Prove it with your own keys: directly and through the gateway."),
    "models": ("compile", "List the models that providers run, with sizes and prices."),
    "demo": ("providers", "Show refusal, repair and answer on emulated providers."),
    "chat": ("providers", "Talk to any model in the terminal."),
    "serve": ("gateway", "Run the gateway."),
    "doctor": ("gateway", "Check the machine, configuration, keys and network."),
    "init": ("gateway", "Write an example configuration."),
    "config": ("gateway", "Check and show the configuration."),
    "keys": ("gateway", "Create, list and revoke client keys."),
    "import": ("gateway", "Translate another gateway's configuration."),
    "emulate": ("providers", "Serve strict imitations of providers."),
    "replay": ("compile", "Send a recorded failure again."),
    "usage": ("records", "Show what was used and what it cost."),
    "cache": ("records", "Show what a recorded session read from the prompt cache, and what broke it."),
    "requests": ("records", "List the requests of the ledger."),
    "lessons": ("records", "Show or forget what refusals have taught."),
    "store": ("records", "Check, move, export and prune what outlives requests."),
    "forget": ("records", "Remove everything that is kept for a client key."),
    "completion": ("gateway", "Print a script that completes commands in a shell."),
}
"""All subcommands, in the order in which a newcomer needs them: the folder of `commands/` that has the module,
and what it does."""

_TAKEN = frozenset({"import", "requests"})
"""Commands whose names Python, or a library that everybody knows, has taken."""
_GC_THRESHOLD = 200_000
"""New objects until the garbage collector runs: more than a start makes. Modules that are loaded leave no garbage."""
USAGE_ERRORS = (TargetError, OptionError)


class LazyGroup(click.Group):
    """A group that imports a command only when it runs, and prints every error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = _attribute(cmd_name)
        found: click.Command = getattr(import_module(_module(cmd_name)), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            known = (*self.list_commands(ctx), "--help", "--version")
            raise click.UsageError(f'no command is called "{args[0]}". {near_match(args[0], known)}')
        return super().resolve_command(ctx, args)

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run a command. Exit codes: 0 success, 1 findings or refused input, 2 wrong usage."""
        standalone = extra.pop("standalone_mode", True)
        if not standalone:
            return super().main(args, prog_name, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, standalone_mode=False, **extra)
        except click.ClickException as error:
            _print_click_error(error)
            sys.exit(error.exit_code)
        except DragomanError as error:
            for line in getattr(error, "problems", ()) or (error,):
                print_error(str(line))
            sys.exit(2 if isinstance(error, USAGE_ERRORS) else 1)
        except BrokenPipeError:
            _exit_on_broken_pipe()
        except click.Abort:
            print_error("interrupted")
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dragoman")
def cli() -> None:
    """Any conversation works on any model, and nothing is changed behind your back."""


def main() -> None:
    """The console script. It prints an internal error in one line, or with DRAGOMAN_TRACEBACK=1 as a traceback."""
    gc.set_threshold(_GC_THRESHOLD)
    try:
        cli.main()
    except Exception as error:
        if os.environ.get("DRAGOMAN_TRACEBACK"):
            raise
        if isinstance(error, ImportError) and (advice := missing_extra(error)):
            print_error(advice)
            sys.exit(1)
        if isinstance(error, OSError) and error.strerror:  # a full disk, or a folder that may not be written
            print_error(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
            sys.exit(1)
        print_error(f"internal error: {type(error).__name__}: {error} (set DRAGOMAN_TRACEBACK=1 to see the traceback)")
        sys.exit(1)


def _module(command: str) -> str:
    folder, _ = COMMANDS[command]
    return f"dragoman.cli.commands.{folder}.{_attribute(command)}"


def _attribute(command: str) -> str:
    return f"{command}_" if command in _TAKEN else command


def _print_click_error(error: click.ClickException) -> None:
    ctx = getattr(error, "ctx", None)
    message = " ".join(error.format_message().split())  # click lists choices one to a line
    if not isinstance(error, click.UsageError):
        print_error(message)
    elif ctx is not None and (not message or isinstance(error, NoArgsIsHelpError)):
        click.echo(ctx.get_help(), err=True)
    else:
        path = ctx.command_path if ctx is not None else "dragoman"
        where = path.removeprefix("dragoman").strip()
        print_error(f"{f'{where}: ' if where else ''}{message.rstrip('.')} (see `{path} --help`)")


def _exit_on_broken_pipe() -> NoReturn:
    """The reader of the output has closed it. Without this, Python would report that again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
