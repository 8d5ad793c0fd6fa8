"""The configuration as it is now, what follows from it, and how a new one takes its place."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from pathlib import Path

from dragoman.config.clients import Clients
from dragoman.config.file_watch import ConfigFile
from dragoman.config.load import Loaded, profile_files
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import LogLevel
from dragoman.errors import DragomanError
from dragoman.gateway.config_names import own_profiles
from dragoman.gateway.http.restart_required import keep_running_values
from dragoman.gateway.records.records import Records
from dragoman.gateway.tools.tool_runs import check_extra
from dragoman.profiles.profile import Profiles
from dragoman.upstream.destinations import Routes


class LiveConfig:
    """One gateway's configuration. A reload replaces it as a whole, or leaves everything as it was."""

    setup_token = ""
    """With it the console may set up a gateway that has no key yet."""

    def __init__(
        self,
        loaded: Loaded,
        records: Records,
        file: ConfigFile | None = None,
        profiles: Profiles | None = None,
        check: Callable[[Config], None] | None = None,
    ) -> None:
        """`check` raises if a configuration is good in itself and yet not for this server."""
        folder = file.path.parent if file is not None and file.path is not None else Path()
        self.file = file
        self.profiles = own_profiles(profile_files(loaded.config, folder), profiles)
        self.config: Config = loaded.config
        self.digest, self.origins = loaded.digest, loaded.origins
        self.clients = Clients(loaded.config.keys)
        self.routes = Routes(loaded.config, self.profiles)
        self.followers: list[Callable[[Config], None]] = []
        """Who is told of a new configuration. Requests under way keep what they have."""
        self._records = records
        self._check = check
        self._reloading = asyncio.Lock()

    def reload(self) -> tuple[str, ...]:
        """Take the file as it is now. Raises DragomanError, and then nothing has changed."""
        if self.file is None:
            return ()
        loaded, routes = self._prepare(self.file)
        self._adopt(loaded, routes)
        return loaded.warnings

    def _prepare(self, file: ConfigFile) -> tuple[Loaded, Routes]:
        """All of a reload that takes time and touches nothing: a thread may do it while requests go on."""
        loaded = keep_running_values(file.load(), self.config)
        check_extra(loaded.config)
        if self._check is not None:
            self._check(loaded.config)
        routes = Routes(loaded.config, self.profiles)
        for name in loaded.config.models:
            routes.find(name)
        return loaded, routes

    def _adopt(self, loaded: Loaded, routes: Routes) -> None:
        for follow in self.followers:
            follow(loaded.config)
        self.config, self.routes, self.clients = loaded.config, routes, Clients(loaded.config.keys)
        self.digest, self.origins = loaded.digest, loaded.origins

    async def reload_if_changed(self) -> None:
        """For the watcher: a bad file is refused once, until it changes again."""
        if self.file is not None and self.file.changed():
            await self.reload_now()

    async def reload_now(self) -> None:
        """Reload and say so; a bad file is refused with its error, and the old configuration stays.

        A large file takes seconds to read. No stream stands still for it.
        """
        if self.file is None:
            return
        records = self._records
        async with self._reloading:
            try:
                loaded, routes = await asyncio.to_thread(self._prepare, self.file)
            except DragomanError as fault:
                line = {"event": "config-refused", "error": records.redactor.text(str(fault))}
                records.lines.add(LogLevel.ERROR, line)
                return
            except Exception as fault:  # whoever watches the file must go on watching
                trace = records.redactor.text("".join(traceback.format_exception(fault)))
                records.lines.add(LogLevel.ERROR, {"event": "crash", "error": trace})
                return
            self._adopt(loaded, routes)
        news = {"event": "config-reloaded", "digest": loaded.digest, "warnings": list(loaded.warnings)}
        records.lines.add(LogLevel.INFO, news)
