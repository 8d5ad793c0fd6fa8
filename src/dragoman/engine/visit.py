"""One destination being asked, within an exchange."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.engine.adapted import Adapted
from dragoman.engine.compile_options import CallerOptions, compile_options
from dragoman.engine.compiler import Options, compile_ask
from dragoman.engine.configured_options import configured
from dragoman.engine.destination import D
from dragoman.engine.history.compaction import UsedSummary
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.recall import cut_key
from dragoman.engine.history.trimming import TrimRequest
from dragoman.engine.lessons import Learnt
from dragoman.engine.reasoning_restore import Kept
from dragoman.engine.steps import AttemptFailed, CutToKeep
from dragoman.profiles.profile import Layer, Target, patched


class Visit(msgspec.Struct, Generic[D]):
    """One destination being asked: what it is taken to accept, and what was tried on it.

    `tries` counts sends of the same body, `corrected` are those that were corrected, with their
    headers. `refused` is the refusal over which
    care is taken, while the careful body is under way; `cared`: care was taken, or would change nothing. `history`: how
    it is trimmed; `shortened`: it was trimmed again because the provider found it too long. `renewed`: newer
    credentials were asked for.
    """

    destination: D
    target: Target
    key: int
    keys_left: int
    tries: int = 0
    corrections: int = 0
    learnt: tuple[Learnt, ...] = ()
    kept: Mapping[str, Kept] = {}
    media: Mapping[str, bytes] = {}
    urls: tuple[str, ...] = ()
    refused: AttemptFailed[D] | None = None
    cared: bool = False
    corrected: tuple[tuple[bytes, Mapping[str, str]], ...] = ()
    summary: UsedSummary | None = None
    history: TrimRequest | None = None
    shortened: bool = False
    renewed: bool = False

    @property
    def is_careful(self) -> bool:
        """Whether care is being taken: every doubt counts as a refusal."""
        return self.refused is not None

    def compile(self, ask: Ask, caller: CallerOptions) -> Adapted:
        """The request for the next send. Raises RequestError."""
        destination = self.destination
        request = compile_ask(ask, self.target, self.options(caller))
        if destination.options or destination.omit:
            return configured(request, destination.options, destination.omit)
        return request

    def options(self, caller: CallerOptions) -> Options:
        return compile_options(
            self.destination, caller, self.kept, self.media, self.is_careful, self.history, self.summary
        )

    def add_media(self, media: Mapping[str, bytes]) -> None:
        self.media = {**self.media, **media}

    def unasked_media(self, request: Adapted) -> tuple[str, ...]:
        """The URLs that the request wants fetched and that were not asked for yet. Each is asked for once."""
        missing = tuple([url for url in request.wants if url not in self.urls]) if request.wants else ()
        self.urls += missing
        return missing

    def correct(self, learnt: Learnt) -> None:
        """Take a fact as the refusal states it."""
        self.tries = 0
        self.corrections += 1
        self.learnt = (*self.learnt, learnt)
        self.target = patched(self.target, Layer(f"lesson {learnt.lesson}", learnt.facts))

    def take_care(self, refused: AttemptFailed[D]) -> None:
        self.refused = refused
        self.cared = True
        self.tries = 0

    def take_next_key(self) -> None:
        self.key = (self.key + 1) % self.destination.key_count
        self.keys_left -= 1
        self.tries -= 1

    def renew_credentials(self) -> None:
        self.renewed = True
        self.tries -= 1

    def shorten(self, history: TrimRequest) -> None:
        """Trim the conversation further, because the provider found it too long."""
        self.history = history
        self.shortened = True
        self.tries = 0

    def cut_to_keep(self, cut: Cut | None) -> CutToKeep | None:
        """The cut, where it was made for this request and later turns can use it."""
        history = self.history
        if cut is None or history is None or self.shortened or cut in history.cuts:
            return None
        return CutToKeep(cut_key(cut.digest, self.destination.name, history.policy), cut)
