"""The scripts that run inside Redis, each as one step that nothing comes between. They stand in `lua/`.

Time is Redis' own, so that replicas whose clocks differ agree. A test may put another clock in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

SERVER_TIME = "(function() local t = redis.call('TIME') return t[1] + t[2] / 1000000 end)()"
_FOLDER = Path(__file__).parent / "lua"
"""The package is installed as a folder, so its files have paths."""
_BEFORE: Mapping[str, tuple[str, ...]] = {
    "put": ("wall", "table"),
    "find": ("wall", "table"),
    "touch": ("wall",),
    "remove": ("table",),
    "forget": ("table",),
    "count": ("steady",),
    "book": (),
    "raise": (),
    "note": (),
    "unnote": (),
    "rest": ("wall",),
    "beat": ("wall",),
    "restore": ("steady",),
}
"""What stands before each script: `now` by one of two clocks, and what the scripts of a table share."""


class ScriptClock(Struct, frozen=True):
    """Lua expressions for the time in seconds."""

    wall: str = SERVER_TIME
    """Dates what is kept."""
    steady: str = SERVER_TIME
    """Measures the windows of limits."""


class LuaScript(Struct, frozen=True):
    """A text of Lua and the name by which Redis knows it."""

    text: str

    @property
    def sha(self) -> bytes:
        return hashlib.sha1(self.text.encode()).hexdigest().encode()  # noqa: S324 - Redis' own name for it


class Scripts:
    """All scripts, with their clock filled in."""

    def __init__(self, clock: ScriptClock) -> None:
        shared = {"table": _read("table")}
        shared |= {"wall": f"local now = {clock.wall}\n", "steady": f"local now = {clock.steady}\n"}
        texts = ["".join([*map(shared.__getitem__, before), _read(name)]) for name, before in _BEFORE.items()]
        self.all = tuple(map(LuaScript, texts))
        shas = [one.sha for one in self.all]
        self.put, self.find, self.touch, self.remove, self.forget, self.count, self.book = shas[:7]
        self.raise_, self.note, self.unnote, self.rest, self.beat, self.restore = shas[7:]


@cache
def _read(name: str) -> str:
    return (_FOLDER / f"{name}.lua").read_text("utf-8")
