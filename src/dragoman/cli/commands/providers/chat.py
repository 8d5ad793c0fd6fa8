"""`dragoman chat`: talk to any model in the terminal, and see what is changed for it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from dragoman.cli.inputs.given_config import GivenConfig, config_options
from dragoman.cli.inputs.image_files import image_part
from dragoman.cli.output.console import is_terminal, print_error, printable, printable_lines
from dragoman.cli.stop_signals import raise_on_interrupt
from dragoman.cli.value_completion import complete_models
from dragoman.errors import DragomanError, OptionError

if TYPE_CHECKING:
    from dragoman.cli.chat_turns import ChangesMade, TurnEvent
    from dragoman.config.load import Loaded
    from dragoman.gateway.services import Services

HELP = """\
/model NAME   go on with another model; without NAME, list the models
/image PATH   add a picture (a file or a URL) to your next message
/system TEXT  set the instructions; without TEXT, take them away
/save FILE    write the conversation as a Chat request
/clear        begin a new conversation
/help         this list
/quit         leave (as Ctrl-D)
A line that ends with \\ goes on in the next. Ctrl-C ends an answer."""
MODELS_SHOWN = 40


@click.command()
@click.argument("model", default="", shell_complete=complete_models)
@config_options
@click.option("--system", "-s", default="", help="Instructions for the model.")
def chat(given: GivenConfig, model: str, system: str) -> int:
    """Talk to MODEL in the terminal.

    Models and keys are those of `dragoman serve`: a configuration, else the keys of the environment, else the strict
    emulators, whose answers are made up. What Dragoman changes in a request is shown before its answer. Tools are off.
    `/help` lists what you can do, such as switching to another provider's model in the middle of a conversation.

    Without a terminal, each line of standard input is a message. Answers go to standard output, all else to standard
    error, and the exit code is 1 if a message was not answered.
    """
    raise_on_interrupt()
    with asyncio.Runner() as runner, _open(runner, given) as services:
        talk = Talk(runner, services, model or _first_model(services), system)
        talk.begin()
        for line in _messages(is_terminal(sys.stdin)):
            if not talk.take(line):
                break
        return 1 if talk.failed and not is_terminal(sys.stdin) else 0


@contextmanager
def _open(runner: asyncio.Runner, given: GivenConfig) -> Iterator[Services]:
    """The services of a gateway with this configuration; if it has no providers, the emulators stand in."""
    from dragoman.cli.inputs.own_gateway import own_gateway
    from dragoman.emulation.emulator_fallback import NOTICE, EmulatorFallback, needs_emulators

    emulators: list[EmulatorFallback] = []

    def complete(loaded: Loaded) -> Loaded:
        if not needs_emulators(loaded.config):
            return loaded
        emulators.append(EmulatorFallback().start())
        note(f"{NOTICE}; their answers are made up")
        return emulators[0].complete(loaded)

    try:
        with own_gateway(runner, given, complete) as gateway:
            yield gateway.services
    finally:
        for one in emulators:
            one.stop()


def _first_model(services: Services) -> str:
    """The model of a user who names none: the default, else the first of the file, else a usual one of a provider."""
    from dragoman.config.model_lookup import list_shown_names
    from dragoman.emulation.emulator_fallback import MODELS

    config = services.live.config
    usual = [
        f"{name}/{MODELS[profile][0]}"
        for name, provider in config.providers.items()
        if (profile := provider.profile or name) in MODELS
    ]
    found = [*filter(None, [config.default_model]), *list_shown_names(config), *usual]
    if not found:
        raise click.UsageError(f"name a model: {next(iter(config.providers), 'PROVIDER')}/MODEL")
    return found[0]


def note(line: str) -> None:
    """A line about the conversation, and not of it."""
    click.secho(printable(line), dim=True, err=True)


def _messages(terminal: bool) -> Iterator[str]:
    """What the user writes, with continued lines joined. Ctrl-C while writing forgets the line."""
    if terminal:
        import readline  # noqa: F401 - gives `input` a history and line editing
    while True:
        try:
            yield _message("> " if terminal else "")
        except EOFError:
            return
        except KeyboardInterrupt:
            if not terminal:
                raise click.Abort from None
            note("/quit leaves")


def _message(prompt: str) -> str:
    lines = [_line(prompt)]
    while lines[-1].endswith("\\"):
        lines.append(_line("… " if prompt else ""))
    return "\n".join(line.removesuffix("\\") for line in lines).strip()


def _line(prompt: str) -> str:
    if prompt:
        return input(prompt)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


class Talk:
    """A conversation: its messages, its model, and the commands that change them."""

    def __init__(self, runner: asyncio.Runner, services: Services, model: str, system: str) -> None:
        from dragoman.cli.chat_turns import tell_failures

        self.model = model
        self.failed = False
        self._runner = runner
        self._services = services
        self._system = system
        self._messages: list[dict[str, Any]] = []
        self._pictures: list[dict[str, Any]] = []
        self._commands: Mapping[str, Callable[[str], None]] = {
            "model": self._choose_model,
            "image": self._add_image,
            "system": self._set_system,
            "save": self._save,
            "clear": self._clear,
            "help": lambda _: click.echo(HELP, err=True),
        }
        tell_failures(services.dispatcher, lambda failed: note(str(failed)))

    def begin(self) -> None:
        """Raises OptionError if there is no such model."""
        self._check_model(self.model, shown_by="/model in `dragoman chat`")
        note(f"talking to {self.model}; /help lists what you can do")

    def take(self, line: str) -> bool:
        """Take a message or a command. False: the user leaves."""
        word, _, rest = line.removeprefix("/").partition(" ")
        if not line:
            return True
        if not line.startswith("/"):
            self._ask(line)
        elif word in ("quit", "exit"):
            return False
        elif word in self._commands:
            self._run(self._commands[word], rest.strip())
        else:
            note(f"/{word} is no command; /help lists them")
            self.failed = True
        return True

    def _run(self, command: Callable[[str], None], argument: str) -> None:
        try:
            command(argument)
        except DragomanError as fault:
            print_error(str(fault))
            self.failed = True

    # Turns

    def _ask(self, text: str) -> None:
        parts = [*self._pictures, {"type": "text", "text": text}]
        self._messages.append({"role": "user", "content": parts if self._pictures else text})
        self._pictures = []
        answer: list[str] = []
        try:
            failed = self._runner.run(self._answer_or_stop(answer))
        except KeyboardInterrupt:
            failed = None
        if failed is None:
            click.echo()
            note("you ended the answer")
            failed = not answer
        if answer:
            self._messages.append({"role": "assistant", "content": "".join(answer)})
        elif failed:
            self._messages.pop()  # so that the next message is not the second of the same user
        self.failed = self.failed or failed

    async def _answer_or_stop(self, answer: list[str]) -> bool | None:
        """What `_answer` returns; None if Ctrl-C ended it.

        The loop has the handler: one that Python calls is not called before the loop has waited, if the signal comes in
        the moment before that.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        stopped: list[bool] = []

        def stop() -> None:
            stopped.append(task.cancel())

        try:
            loop.add_signal_handler(signal.SIGINT, stop)
        except (NotImplementedError, RuntimeError, ValueError):  # on Windows, or not in the main thread
            return await self._answer(answer)
        try:
            return await self._answer(answer)
        except asyncio.CancelledError:
            if not stopped:
                raise
            task.uncancel()
            return None
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _answer(self, answer: list[str]) -> bool:
        """Print the next turn, and collect its text. True if it failed."""
        from dragoman.cli.chat_turns import AnswerPiece, TurnFailed, take_turn

        failed = False
        turn = take_turn(self._services, self.model, self._messages_to_send())
        try:
            async for event in turn:
                failed = failed or isinstance(event, TurnFailed)
                if isinstance(event, AnswerPiece) and not event.reasoning:
                    answer.append(event.text)
                _print_event(event, bool(answer))
        finally:
            await turn.aclose()
        return failed

    def _messages_to_send(self) -> list[dict[str, Any]]:
        opening = [{"role": "system", "content": self._system}] if self._system else []
        return [*opening, *self._messages]

    # Commands

    def _choose_model(self, name: str) -> None:
        if not name:
            self._list_models()
            return
        self._check_model(name)
        self.model = name
        note(f"going on with {name}")

    def _check_model(self, name: str, shown_by: str = "/model") -> None:
        from dragoman.conversation.dialect_names import DEFAULT_DIALECT
        from dragoman.gateway.callers.caller import OWNER, Refused
        from dragoman.gateway.models.model_names import find_lead

        try:
            find_lead(self._services, OWNER, name, DEFAULT_DIALECT)
        except Refused as refused:
            raise OptionError(refused.failure.message.replace("GET /v1/models", shown_by)) from None

    def _list_models(self) -> None:
        from dragoman.conversation.dialect_names import DEFAULT_DIALECT
        from dragoman.gateway.callers.caller import OWNER
        from dragoman.gateway.models.model_names import visible_names

        names = list(self._runner.run(visible_names(self._services, OWNER, DEFAULT_DIALECT)))
        more = f", and {len(names) - MODELS_SHOWN} more" if len(names) > MODELS_SHOWN else ""
        note(", ".join(names[:MODELS_SHOWN]) + more if names else "ask for PROVIDER/MODEL")
        note(f"providers: {', '.join(self._services.live.config.providers)}")

    def _add_image(self, place: str) -> None:
        self._pictures.append(image_part(place))
        note(f"{place} goes with your next message")

    def _set_system(self, text: str) -> None:
        self._system = text
        note("instructions set" if text else "no instructions")

    def _save(self, name: str) -> None:
        if not name:
            raise OptionError("names no file", at="/save", hint="write /save FILE")
        request = {"model": self.model, "messages": self._messages_to_send()}
        try:
            with open(name, "xb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(request), indent=2) + b"\n")
        except FileExistsError:
            raise OptionError("is there already; give another name", at=name) from None
        except OSError as fault:
            raise OptionError(f"cannot be written: {fault.strerror}", at=name) from None
        note(f"{name} written; `dragoman lint {name} --to all` shows who would take it")

    def _clear(self, _: str) -> None:
        self._messages, self._pictures = [], []
        note("a new conversation")


def _print_event(event: TurnEvent, answering: bool) -> None:
    from dragoman.cli.chat_turns import AnswerPiece, ChangesMade, TurnFailed

    if isinstance(event, AnswerPiece):
        if event.reasoning:
            click.secho(printable_lines(event.text), dim=True, italic=True, nl=False, err=True)
        else:
            click.echo(printable_lines(event.text), nl=False)
            sys.stdout.flush()
        return
    if isinstance(event, ChangesMade):
        _print_changes(event)
        return
    if answering:
        click.echo()
    if isinstance(event, TurnFailed):
        print_error(event.failure.message)
        return
    usage, estimated = event.spent.usage, "about " if event.spent.estimated else ""
    cost = f", ${event.cost.amount:.6f}" if event.cost is not None and event.cost.amount else ""
    note(f"{estimated}{usage.input:,} tokens in, {usage.output:,} out{cost}, {event.seconds:.1f} s")


def _print_changes(made: ChangesMade) -> None:
    for one in made.changes:
        note(f"{one.rule}: {one.did} ({one.where}{'' if one.harmless else f', loses {one.loses}'})")
    for lesson in made.lessons:
        note(f"learnt from a refusal: {lesson}")
    if made.emulated:
        note(f"{made.target} is emulated: the answer is made up")
