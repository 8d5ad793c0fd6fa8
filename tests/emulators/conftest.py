"""The fixture that users get with `pytest_plugins = ["dragoman.testing"]`, which only a top-level conftest may say."""

from dragoman.testing import dragoman_emulators as dragoman_emulators
