"""The banner at the start: the address of the gateway, its models, and how to use it from each client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dragoman.config.model_lookup import list_shown_names
from dragoman.config.schema.config_file import Config

if TYPE_CHECKING:
    from rich.console import Console

MAX_MODELS = 8
"""The most models that the banner names."""


class GatewaySummary(msgspec.Struct, frozen=True):
    """What the banner shows."""

    url: str
    models: tuple[str, ...]
    providers: tuple[str, ...]
    keys: int
    workers: int
    file: str | None
    state: str = "memory"
    notice: str = ""
    setup: str = ""
    lifetime: str = ""
    """How long conversations are kept; empty: not at all."""

    @property
    def console(self) -> str:
        """Where to look in a browser. After `#` stands what the page alone reads, and no log."""
        return f"{self.url}/#setup={self.setup}" if self.setup else f"{self.url}/"

    @property
    def model(self) -> str:
        """A model for the examples."""
        return self.models[0] if self.models else f"{self.providers[0]}/MODEL" if self.providers else "MODEL"


def summarise(config: Config, url: str, file: str | None, state: str = "memory", notice: str = "") -> GatewaySummary:
    return GatewaySummary(
        url,
        list_shown_names(config),
        tuple(config.providers),
        keys=len(config.keys),
        workers=config.server.workers,
        file=file,
        state=state,
        notice=notice,
        lifetime=config.state.lifetime if config.state.enabled else "",
    )


def clients(url: str, model: str, key: str = "any") -> list[tuple[str, str]]:
    """How to use the gateway from each client: its name, and what to type or write."""
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


def show(console: Console, summary: GatewaySummary) -> None:
    """Print the whole banner."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    table.add_row("address", Text(summary.url, style="bold cyan"))
    once = " (good for once: this browser may then edit the configuration)" if summary.setup else ""
    table.add_row("console", Text.assemble((summary.console, "bold cyan"), (once, "dim")))
    table.add_row("config", summary.file or "none; providers come from the environment")
    table.add_row("models", _models(summary))
    table.add_row("keys", _keys(summary))
    table.add_row("state", "in memory; a restart forgets it" if summary.state == "memory" else summary.state)
    table.add_row("conversations", _conversations(summary))
    if summary.workers > 1:
        table.add_row("workers", str(summary.workers))
    console.print()
    console.print(Text("dragoman", style="bold"), Text("any conversation works on any model", style="italic dim"))
    if summary.notice:
        console.print(Text(summary.notice, style="bold yellow"))
    console.print(table)
    show_clients(console, summary.url, summary.model, "YOUR_KEY" if summary.keys else "any")


def show_clients(console: Console, url: str, model: str, key: str = "any") -> None:
    """Print how to use the gateway from each client. No line is broken: the second half of a command would run the
    client without the gateway."""
    from rich.text import Text

    console.print()
    console.print("Use it from a client:", style="bold")
    for name, text in clients(url, model, key):
        console.print(Text.assemble((f"{name:<15}", "dim"), text.replace("\n", "\n" + " " * 15)), soft_wrap=True)


def _models(summary: GatewaySummary) -> str:
    if not summary.models:
        return f"every PROVIDER/MODEL of {', '.join(summary.providers) or 'no provider'}"
    more = f" and {len(summary.models) - MAX_MODELS} more" if len(summary.models) > MAX_MODELS else ""
    return ", ".join(summary.models[:MAX_MODELS]) + more


def _conversations(summary: GatewaySummary) -> str:
    if not summary.lifetime:
        return "not kept (state: off)"
    place = "in memory" if summary.state == "memory" else f"in {summary.state}"
    return f"{place}, for {summary.lifetime}, for clients that continue them by ids; `state: off` keeps none"


def _keys(summary: GatewaySummary) -> str:
    if summary.keys:
        return f"{summary.keys}; clients must send one of them"
    return "none; any key works, and only this machine is served unless the configuration allows others"
