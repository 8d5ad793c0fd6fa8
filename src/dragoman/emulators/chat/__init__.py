"""Emulators of servers with a Chat Completions API."""
