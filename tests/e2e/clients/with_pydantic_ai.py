"""pydantic-ai. Kinds: chat, responses, anthropic, google"""

from typing import Any

from loop import BASE, KIND, ClientReport, each
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, ThinkingPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

SETTINGS: dict[str, Any] = {
    "chat": {"openai_reasoning_effort": "medium"},
    "responses": {"openai_reasoning_effort": "medium", "openai_reasoning_summary": "auto", "openai_store": False},
    "anthropic": {"anthropic_thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 8192},
    "google": {"google_thinking_config": {"include_thoughts": True, "thinking_budget": 2048}},
}
ADAPTIVE = ("claude-opus-4-8",)
"""Models for which pydantic-ai itself refuses a budget."""


def model(name: str) -> Any:
    if KIND == "anthropic":
        return AnthropicModel(name, provider=AnthropicProvider(base_url=BASE, api_key="any"))
    if KIND == "google":
        return GoogleModel(name, provider=GoogleProvider(base_url=BASE, api_key="any"))
    made = OpenAIResponsesModel if KIND == "responses" else OpenAIChatModel
    return made(name, provider=OpenAIProvider(base_url=f"{BASE}/v1", api_key="any"))


async def listen(context: Any, events: Any) -> None:
    """With somebody to hear the events, every request is streamed."""
    async for _ in events:
        pass


async def loop(one: dict[str, Any], heard: ClientReport) -> None:
    settings = SETTINGS[KIND]
    if one["model"] in ADAPTIVE and KIND == "anthropic":
        settings = {**settings, "anthropic_thinking": {"type": "adaptive"}}
    agent: Any = Agent(model(one["model"]), system_prompt="Be brief.", model_settings=settings)

    @agent.tool_plain
    def weather(city: str) -> str:
        """The weather in a city."""
        return heard.run("weather", {"city": city})

    @agent.tool_plain
    def wind(place: str, days: int) -> str:
        """The wind at a place for some days."""
        return heard.run("wind", {"place": place, "days": days})

    done = await agent.run(one["question"], **({"event_stream_handler": listen} if one["streamed"] else {}))
    for said in done.all_messages():
        if isinstance(said, ModelResponse):
            heard.think("".join(part.content for part in said.parts if isinstance(part, ThinkingPart)))
    usage = done.usage() if callable(done.usage) else done.usage
    heard.spend(usage.input_tokens, usage.output_tokens)
    heard.text = done.output


each(loop)
