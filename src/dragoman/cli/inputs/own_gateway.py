"""A gateway inside this process, for commands that send requests themselves. It has no port."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from dragoman.cli.inputs.given_config import GivenConfig
from dragoman.config.file_watch import ConfigFile
from dragoman.config.load import Loaded
from dragoman.config.schema.log import Log, LogLevel, ProviderErrors
from dragoman.gateway.app import Gateway
from dragoman.gateway.config_names import collect_names
from dragoman.gateway.services import Services, keep_in_memory


@contextmanager
def own_gateway(
    runner: asyncio.Runner, given: GivenConfig, complete: Callable[[Loaded], Loaded] = lambda loaded: loaded
) -> Iterator[Gateway]:
    """A gateway with this configuration, in memory and without a log. `complete` may change what was read."""
    file = ConfigFile(given.file, known=collect_names(), process=os.environ, env_files=given.env_files)
    loaded = complete(file.load())
    quiet = Log(level=LogLevel.ERROR, provider_errors=ProviderErrors(path=None))
    loaded = keep_in_memory(replace(loaded, config=replace(loaded.config, log=quiet)))
    gateway = Gateway(Services(loaded, file), watch=False)
    try:
        runner.run(gateway.services.store.start())
        yield gateway
    finally:
        runner.run(gateway.close())
