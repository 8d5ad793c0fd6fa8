"""`dragoman verify`: live proof with one's own keys, as a dated page."""

from __future__ import annotations

import asyncio
import datetime
import os
from pathlib import Path

import click
from msgspec.structs import replace

from dragoman import __version__
from dragoman.cli.inputs.given_config import GivenConfig, config_options
from dragoman.cli.inputs.own_gateway import own_gateway
from dragoman.cli.output.console import print_note, printable
from dragoman.cli.value_completion import complete_models
from dragoman.config.environment_providers import find_missing_keys
from dragoman.config.load import Loaded
from dragoman.errors import OptionError
from dragoman.gateway.app import Gateway
from dragoman.gateway.config_names import collect_names
from dragoman.verification.page import is_good, render_page
from dragoman.verification.profile_patch import find_patch
from dragoman.verification.run_state import RunState, TargetRun, parse_state, render_state
from dragoman.verification.trials import TRIALS
from dragoman.verification.verifying import Verifier, find_destination


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=complete_models)
@config_options
@click.option("--budget", default=0.5, show_default=True, type=click.FloatRange(0), help="Dollars to spend at most.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The page to write; by default verified-DATE.md.",
)
@click.option(
    "--rate",
    default=5.0,
    show_default=True,
    type=click.FloatRange(0.1, 1000),
    help="Questions about facts in a second.",
)
@click.option("--bodies", is_flag=True, help="Put requests and answers on the page too.")
@click.option("--resume", is_flag=True, help="Go on where an earlier run of the same --out ended.")
def verify(
    given: GivenConfig,
    *,
    targets: tuple[str, ...],
    budget: float,
    out: Path | None,
    rate: float,
    bodies: bool,
    resume: bool,
) -> int:
    """Send fixed conversations to real providers, directly and through the gateway, and write a page about it.

    TARGET is PROVIDER/MODEL; by default one model of each provider whose key the configuration or the environment has.
    Then the facts of each profile are put to the test, and those that turn out wrong are printed as a patch. The exit
    code is 1 if the gateway failed in a conversation, or a fact is wrong.
    """
    seen = datetime.datetime.now(datetime.UTC).date()
    page = out or Path(f"verified-{seen}.md")
    if not page.parent.is_dir():
        raise OptionError(f"{page.parent} is no directory", at="--out", hint="create it first")
    if not os.access(page.parent, os.W_OK):
        raise OptionError(f"{page.parent} cannot be written", at="--out", hint="name another place")
    kept = page.with_suffix(".verify.json")
    with asyncio.Runner() as runner, own_gateway(runner, given, _without_keys) as gateway:
        named = targets or _usual_targets(gateway)
        state = parse_state(kept.read_bytes(), str(kept)) if resume and kept.is_file() else RunState()
        state = RunState(tuple(state.of(target) for target in named))
        verifier = Verifier(gateway, gateway.services.records.redactor.text, rate=rate, with_bodies=bodies)
        try:
            state = runner.run(_verify(verifier, state, budget, kept))
        except KeyboardInterrupt:
            print_note(f"{kept} holds what is known; --resume goes on from here")
            raise
        patches = {run.target: _patch(gateway, run, seen) for run in state.targets}
    page.write_text(render_page(state.targets, patches, __version__, seen), "utf-8")
    print_note(f"wrote {page}")
    for patch in filter(None, patches.values()):
        click.echo(patch, nl=False)
    return _conclude(state, kept)


def _patch(gateway: Gateway, run: TargetRun, seen: datetime.date) -> str:
    return find_patch(find_destination(gateway, run.target).target, run.facts, seen)


def _without_keys(loaded: Loaded) -> Loaded:
    """Client keys are for others. Providers must be real ones, or what the user puts in their place."""
    if not loaded.config.providers:
        raise OptionError(
            "no provider: the environment has no key", at="verify", hint="export one, or give a configuration"
        )
    return replace(loaded, config=replace(loaded.config, keys={}))


def _usual_targets(gateway: Gateway) -> tuple[str, ...]:
    """One model of each provider that has a key, or needs none."""
    from dragoman.emulation.emulator_fallback import MODELS

    config = gateway.services.live.config
    keyless = find_missing_keys(config, {}, collect_names())
    found = tuple(
        f"{name}/{MODELS[profile][0]}"
        for name, one in config.providers.items()
        if (profile := one.profile or name) in MODELS and name not in keyless
    )
    if not found and keyless:
        name, hint = next(iter(keyless.items()))
        raise OptionError("has no key", at=f"providers.{name}", hint=hint)
    if not found:
        raise OptionError("no model is usual for these providers", at="TARGET", hint="name PROVIDER/MODEL")
    return found


async def _verify(verifier: Verifier, state: RunState, budget: float, kept: Path) -> RunState:
    """Verify the targets one after another. What one of them leaves of the budget is for those after it."""

    def note(run: TargetRun, step: str) -> None:
        nonlocal state
        state = state.put(run)
        kept.write_bytes(render_state(state))
        spent = sum(one.cost for one in state.targets)
        why = f"; ended early: {run.ended or run.facts.ended}" if not run.is_complete else ""
        print_note(printable(f"{run.target}: {len(run.runs)} of {len(TRIALS)}, {step} (${spent:.4f} spent{why})"))

    for at, run in enumerate(state.targets):
        left = budget - sum(one.cost for one in state.targets if one.target != run.target)
        share = run.cost + (left - run.cost) / (len(state.targets) - at)
        await verifier.verify(run, share, note)
    return state


def _conclude(state: RunState, kept: Path) -> int:
    """Tell how it ended. Nothing is left to go on with after a complete run."""
    runs = [run for target in state.targets for run in target.runs]
    failed, wrong = [one for one in runs if not is_good(one)], sum(len(one.facts.wrong) for one in state.targets)
    click.echo(
        f"{len(runs) - len(failed)} of {len(runs)} conversations went well through the gateway; {wrong} facts are"
        f" wrong; ${sum(one.cost for one in state.targets):.4f} spent",
        err=True,
    )
    if all(one.is_complete for one in state.targets):
        kept.unlink(missing_ok=True)
    else:
        print_note("some targets are not complete; --resume goes on from here")
    return 1 if failed or wrong else 0
