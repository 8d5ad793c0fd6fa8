"""Strict provider emulators for your own tests."""
