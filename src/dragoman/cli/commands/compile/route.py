"""`dragoman route`: which model a route would choose for a request, and why; nothing is sent."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from dragoman.cli.inputs.compile_context import config_option, file_type, read_routes, source_option
from dragoman.cli.output.console import echo_json, printable
from dragoman.config.model_lookup import AUTO, find_candidates
from dragoman.config.schema.config_file import Config
from dragoman.conversation.conversation import Ask
from dragoman.engine.library.adapt import read
from dragoman.engine.routing.candidates import Decision
from dragoman.engine.routing.decide import RouterQuestion, Routing
from dragoman.engine.routing.sessions import session_key
from dragoman.errors import OptionError, RequestError, near_match
from dragoman.profiles.profile import Profiles
from dragoman.upstream.model_candidates import candidate, route_policy


@click.command()
@click.argument("file", type=file_type)
@click.option("--route", "name", help="The route; by default the request's model, or auto.")
@click.option("--answer", help="What the router model would answer. Without it its question is shown.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@source_option
@config_option
def route(*, file: Path, name: str | None, answer: str | None, as_json: bool, source: str, config: Path | None) -> None:
    """Explain which model the configured routes choose for the request in FILE. Nothing is sent.

    Health, speed and earlier turns are not known here: all models count as healthy and idle.
    """
    ask = _read_request(file, source)
    read_config, _, routes = read_routes(config, Profiles(), quiet=True)
    loaded = read_config.config
    chosen = name or ask.model or AUTO
    names = find_candidates(loaded, chosen)
    if names is None:
        raise _no_route(chosen, loaded)
    candidates = [candidate(loaded, routes, one) for one in names]
    routing = Routing(ask.conversation, candidates, route_policy(loaded, chosen))
    found = routing.settle()
    if isinstance(found, RouterQuestion):
        if answer is None:
            _show_question(found, as_json)
            return
        found = routing.answered(answer)
    _show(found, session_key(ask), as_json)


def _read_request(file: Path, source: str) -> Ask:
    try:
        return read(file.read_bytes(), source=source)
    except RequestError as error:
        raise RequestError(str(error), at=printable(str(file))) from None


def _no_route(name: str, config: Config) -> OptionError:
    """`auto` chooses among the models of the file, so without models there is no route at all."""
    if not config.models and not config.routes:
        return OptionError("there is no model to choose from", hint="add models to the configuration, or give --config")
    known = near_match(name, {AUTO, *config.routes} if config.models else config.routes)
    return OptionError(f'no route is called "{name}". {known}', hint="give --route, or add it to routes")


def _show_question(question: RouterQuestion, as_json: bool) -> None:
    if as_json:
        echo_json({"asks": question.body})
        return
    click.echo("The router model decides. It is asked:\n")
    click.echo(printable(msgspec.json.format(msgspec.json.encode(question.body)).decode()))
    click.echo('\nTo see what follows from an answer: --answer \'{"model": "NAME"}\'')


def _show(decision: Decision, session: str, as_json: bool) -> None:
    if as_json:
        shown = {**msgspec.to_builtins(decision), "session": session}
        echo_json(shown)
        return
    click.echo(f"{click.style(decision.chosen, bold=True)}: {printable(decision.reason)}")
    if len(decision.models) > 1:
        click.echo(f"  then {', '.join(decision.models[1:])}")
    if decision.skipped:
        click.echo(f"  no router model is asked: {decision.skipped}")
    for one in decision.left_out:
        click.echo(f"  not {one.name}: {printable(one.why)}")
    if session:
        click.echo(f"  session {printable(session)}")
