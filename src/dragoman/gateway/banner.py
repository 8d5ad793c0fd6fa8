"""The first thing that a user sees: where the gateway is, what stands behind it, and how to point clients at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dragoman.config import Config

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 8
"""Models that are named; a long list helps nobody."""


class Facts(msgspec.Struct, frozen=True):
    """What there is to tell."""

    url: str
    models: tuple[str, ...]
    providers: tuple[str, ...]
    keys: int
    workers: int
    file: str | None
    state: str = "memory"
    notice: str = ""

    @property
    def model(self) -> str:
        """One that examples may name."""
        return self.models[0] if self.models else f"{self.providers[0]}/MODEL" if self.providers else "MODEL"


def facts(config: Config, url: str, file: str | None, state: str = "memory", notice: str = "") -> Facts:
    models = tuple(name for name, model in config.models.items() if not model.hidden)
    return Facts(url, models, tuple(config.providers), len(config.keys), config.server.workers, file, state, notice)


def clients(url: str, model: str, key: str = "any") -> list[tuple[str, str]]:
    """How to point each client at a gateway: its name and what to type."""
    codex = (
        f'model = "{model}"\nmodel_provider = "dragoman"\n[model_providers.dragoman]\nname = "Dragoman"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "DRAGOMAN_KEY"'
    )
    return [
        ("Claude Code", f"ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY={key} ANTHROPIC_MODEL={model} claude"),
        ("Codex", f"~/.codex/config.toml, then DRAGOMAN_KEY={key} codex:\n{codex}"),
        ("Gemini CLI", f"GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY={key} gemini -m {model}"),
        ("OpenAI SDK", f'OpenAI(base_url="{url}/v1", api_key="{key}")'),
        ("Anthropic SDK", f'Anthropic(base_url="{url}", api_key="{key}")'),
        ("Google SDK", f'genai.Client(api_key="{key}", http_options={{"base_url": "{url}"}})'),
    ]


def show(console: Console, told: Facts) -> None:
    """Everything, for people."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    table.add_row("address", Text(told.url, style="bold cyan"))
    table.add_row("config", told.file or "none: providers come from the environment")
    table.add_row("models", _models(told))
    table.add_row("keys", _keys(told))
    table.add_row("state", "in memory: a restart forgets it" if told.state == "memory" else told.state)
    if told.workers > 1:
        table.add_row("workers", str(told.workers))
    console.print()
    console.print(Text("dragoman", style="bold"), Text("any conversation works on any model", style="italic dim"))
    if told.notice:
        console.print(Text(told.notice, style="bold yellow"))
    console.print(table)
    show_clients(console, told.url, told.model, "YOUR_KEY" if told.keys else "any")


def show_clients(console: Console, url: str, model: str, key: str = "any") -> None:
    """How to point clients at it."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in clients(url, model, key):
        table.add_row(name, Text(words))
    console.print()
    console.print("Point a client at it:", style="bold")
    console.print(table)


def _models(told: Facts) -> str:
    if not told.models:
        return f"every PROVIDER/MODEL of {', '.join(told.providers) or 'nobody yet'}"
    more = f" and {len(told.models) - SHOWN} more" if len(told.models) > SHOWN else ""
    return ", ".join(told.models[:SHOWN]) + more


def _keys(told: Facts) -> str:
    if told.keys:
        return f"{told.keys}; clients send one of them"
    return "none: any key will do; only this machine is served unless the configuration says otherwise"
