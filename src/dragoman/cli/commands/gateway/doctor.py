"""`dragoman doctor`: everything that a gateway needs, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from dragoman.cli.checkup.check import Check, Mark
from dragoman.cli.checkup.page import print_checks
from dragoman.cli.inputs.given_config import GivenConfig, config_options
from dragoman.extras import missing_extra

if TYPE_CHECKING:
    from dragoman.config.schema.config_file import Config


@click.command()
@config_options
@click.option("--offline", is_flag=True, help="Ask neither providers nor servers of the store.")
@click.option("--timeout", type=click.FloatRange(0.1, 60), default=5.0, show_default=True, help="Seconds for each.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(given: GivenConfig, offline: bool, timeout: float, as_json: bool) -> int:
    """Look at the machine, the configuration, the keys, the store, the port and the network.

    Every provider is asked for its list of models, which costs nothing. Servers of a shared store are asked for their
    versions, tables and settings. Keys are never shown. The exit code is 1 if something fails; warnings do not count.
    """
    checks = _all_checks(given, offline, timeout)
    failed = any(check.mark is Mark.FAIL for check in checks)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"ok": not failed, "checks": checks}), indent=2))
    else:
        print_checks(checks)
    return 1 if failed else 0


def _all_checks(given: GivenConfig, offline: bool, timeout: float) -> list[Check]:
    from dragoman.cli.checkup.configuration import look_at_configuration
    from dragoman.cli.checkup.machine import machine_checks
    from dragoman.cli.checkup.servers import server_checks
    from dragoman.config.load import profile_files
    from dragoman.gateway.config_names import collect_names, own_profiles
    from dragoman.store.location import store_file

    path = given.file
    found = look_at_configuration(path, given.env_files, collect_names())
    config = found.loaded.config if found.loaded is not None else None
    checks = [*machine_checks(config), *found.checks]
    if found.loaded is None or offline:
        why = f"not asked: {'--offline' if offline else 'the configuration is wrong'}"
        asked = [("store", "servers"), ("network", "providers")] if _has_servers(config) else [("network", "providers")]
        return [*checks, *(Check(section, name, Mark.SKIP, why) for section, name in asked)]
    folder = path.parent if path is not None else Path()
    profiles = own_profiles(profile_files(found.loaded.config, folder))
    servers = server_checks(found.loaded.config, store_file(found.loaded.config.store, path), timeout)
    try:
        from dragoman.cli.checkup.network import network_checks
    except ModuleNotFoundError as error:
        return [*checks, *servers, Check("network", "providers", Mark.SKIP, f"not asked: {missing_extra(error)}")]
    return [*checks, *servers, *network_checks(found.loaded, profiles, timeout)]


def _has_servers(config: Config | None) -> bool:
    return config is not None and (config.store.hot is not None or config.store.ledger is not None)
