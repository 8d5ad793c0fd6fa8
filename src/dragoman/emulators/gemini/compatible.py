"""A proxy in front of Gemini that ignores fields which it does not know."""

from __future__ import annotations

from dragoman.emulators.emulated_api import without_unknown_fields
from dragoman.emulators.gemini.emulator import Gemini
from dragoman.emulators.gemini.messages import STUDIO
from dragoman.emulators.gemini.proto import camel
from dragoman.emulators.provider import ReceivedRequest


class CompatibleGemini(Gemini):
    """Google's judge behind a proxy that passes on what Google knows."""

    name = "gemini-native-compatible"
    has_free_names = True

    def check(self, request: ReceivedRequest) -> None:
        known = without_unknown_fields(
            request,
            "contents",
            lambda key: camel(key) in STUDIO["GenerateContentRequest"],
            lambda key: camel(key) in STUDIO["Content"],
        )
        super().check(known)
