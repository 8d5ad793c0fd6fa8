"""`dragoman doctor`: everything that a gateway needs, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.checkup.check import Check, Mark
from dragoman.cli.config import chosen_file, config_option, env_option
from dragoman.cli.console import printable

_COLOURS = {Mark.OK: "green", Mark.WARN: "yellow", Mark.FAIL: "red", Mark.SKIP: "bright_black"}


@click.command()
@config_option
@env_option
@click.option("--offline", is_flag=True, help="Do not ask the providers.")
@click.option("--timeout", type=click.FloatRange(0.1, 60), default=5.0, show_default=True, help="Seconds per provider.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(path: Path | None, env_files: tuple[Path, ...], offline: bool, timeout: float, as_json: bool) -> int:
    """Look at the machine, the configuration, the keys, the store, the port and the network.

    Every provider is asked for its list of models, which costs nothing. Keys are never shown. The exit code is 1 if
    something fails; warnings do not count.
    """
    checks = _all_checks(chosen_file(path), env_files, offline, timeout)
    failed = any(check.mark is Mark.FAIL for check in checks)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"ok": not failed, "checks": checks}), indent=2))
    else:
        _print(checks)
    return 1 if failed else 0


def _all_checks(path: Path | None, env_files: tuple[Path, ...], offline: bool, timeout: float) -> list[Check]:
    from dragoman.cli.checkup.configuration import look_at_configuration
    from dragoman.cli.checkup.machine import machine_checks
    from dragoman.cli.checkup.network import network_checks
    from dragoman.config.load import profile_files
    from dragoman.gateway.known_names import known_names, own_profiles

    found = look_at_configuration(path, env_files, known_names())
    config = found.loaded.config if found.loaded is not None else None
    checks = [*machine_checks(config), *found.checks]
    if found.loaded is None or offline:
        why = "--offline" if offline else "the configuration is wrong"
        return [*checks, Check("network", "providers", Mark.SKIP, f"not asked: {why}")]
    folder = path.parent if path is not None else Path()
    profiles = own_profiles(profile_files(found.loaded.config, folder))
    return [*checks, *network_checks(found.loaded, profiles, timeout)]


def _print(checks: Sequence[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for section in dict.fromkeys(check.section for check in checks):
        click.secho(section, bold=True)
        for check in checks:
            if check.section == section:
                _print_check(check, width)
    counts: dict[Any, int] = {}
    for check in checks:
        counts[check.mark] = counts.get(check.mark, 0) + 1
    click.echo(", ".join(f"{counts[mark]} {mark}" for mark in Mark if mark in counts))


def _print_check(check: Check, width: int) -> None:
    mark = click.style(f"{check.mark:<4}", fg=_COLOURS[check.mark])
    click.echo(f"  {mark}  {printable(check.name):<{width}}  {printable(check.text)}")
    if check.hint and check.mark is not Mark.OK:
        click.echo(f"  {'':<4}  {'':<{width}}  → {printable(check.hint)}")
