"""Gemini `generateContent` and `streamGenerateContent`, as AI Studio and Vertex serve them."""

from dragoman.emulators.gemini.compatible import compatible
from dragoman.emulators.gemini.emulator import Gemini, Vertex, provider, vertex

__all__ = ["Gemini", "Vertex", "compatible", "provider", "vertex"]
