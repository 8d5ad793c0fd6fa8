"""`dragoman explain`: what is changed for a target, and why, in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from dragoman.cli.inputs.compile_context import file_type, parse_choices, profile_options
from dragoman.cli.inputs.state_access import RunningGateway, key_option, url_option
from dragoman.cli.output.console import echo_json, print_beside, print_prose, printable
from dragoman.cli.value_completion import complete_targets
from dragoman.engine.library import explain as explaining
from dragoman.engine.library.adapt import choose
from dragoman.engine.library.explain import Explained, Reason
from dragoman.engine.library.report_summary import weight
from dragoman.profiles.doubts import DOUBTS
from dragoman.profiles.facts import Stance


@click.command()
@click.argument("target", shell_complete=complete_targets)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--config", "-c", "config", type=file_type, help="A gateway's file: TARGET is PROVIDER/MODEL, with what was learnt."
)
@url_option
@key_option
@profile_options
def explain(
    *,
    target: str,
    as_json: bool,
    config: Path | None,
    url: str | None,
    key: str | None,
    rules: tuple[str, ...],
    profiles: Path | None,
) -> None:
    """Explain what may be changed for TARGET (PROFILE/MODEL), and why.

    With --config it explains a target of that gateway: the facts that it has learnt or found by asking are in its
    store, or are asked of the gateway at --url.
    """
    choices = parse_choices(profiles, rules)
    if config is not None:
        from dragoman.cli.learnt_profile import learnt_profiles

        gateway = None if url is None else RunningGateway(url, key)
        learnt = learnt_profiles(target, config, choices.profiles, gateway)
        choices = replace(choices, profiles=learnt)
    found = explaining.explain(target, profiles=choices.profiles, rules=choices.rules)
    if as_json:
        echo_json(found)
        return
    dialect = choose(target, choices.profiles).dialect
    click.echo(f"{click.style(target, bold=True)} uses the {dialect} dialect.\n")
    lost = [one for one in found if one.group == explaining.UNSEEN]
    known = [one for one in found if not one.careful and one not in lost]
    _print_section("It refuses these. They are repaired for every client:", known)
    _print_section(
        f"It is unknown whether it accepts these. They are repaired only for clients that do not use {dialect}:",
        (one for one in found if one.careful),
    )
    _print_section("It leaves these out of the prompt. They are sent, and the report of each request says so:", lost)


def _print_section(heading: str, found: Iterable[Explained]) -> None:
    entries = sorted(found, key=lambda one: -weight(one.loses))
    if not entries:
        return
    print_prose(heading)
    for one in entries:
        click.echo()
        print_beside(f"  {click.style(one.rule, fg='cyan')}: ", render_rule(one))
        for reason in one.because:
            print_beside("    ", printable(render_reason(reason)))
    click.echo()


def render_rule(one: Explained) -> str:
    """The defect, the chosen option and the loss."""
    choice = f" The option is `{printable(one.does)}`." if one.does else ""
    loses = "It loses nothing." if one.loses == "nothing" else f"It loses at most {one.loses}."
    return f"{one.defect}.{choice} {loses}"


def render_reason(reason: Reason) -> str:
    """The fact as a sentence, with the provider's own message."""
    quote = f": “{reason.says}” (seen {reason.seen})" if reason.says else ""
    return f"because {_render_fact(reason)} [{reason.fact}]{quote}"


def _render_fact(reason: Reason) -> str:
    if reason.value == Stance.REFUSES:
        return f"it refuses {reason.about}"
    if reason.value in DOUBTS:
        return f"it is unknown whether it accepts {reason.about}"
    if isinstance(reason.value, dict):
        member = reason.fact.partition(".")[2]
        if member and reason.value.get("support") == Stance.REFUSES:
            return f"it refuses {member}"
        return f"it does not accept every value of {member or ', '.join(reason.value)}"
    value = reason.value if isinstance(reason.value, str) else msgspec.json.encode(reason.value).decode()
    return f"of {reason.about}: {value or 'none'}"
