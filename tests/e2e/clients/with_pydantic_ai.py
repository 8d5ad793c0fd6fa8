"""pydantic-ai. Arguments: BASE MODEL whole+streamed chat|responses|anthropic|google"""

import asyncio
import json
import sys
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

BASE, MODEL, WAYS, KIND = sys.argv[1:]
asked: list[str] = []


def weather(city: str) -> str:
    """The weather in a city."""
    asked.append(city)
    return f"It pours in {city}."


def model() -> Any:
    if KIND == "anthropic":
        return AnthropicModel(MODEL, provider=AnthropicProvider(base_url=BASE, api_key="any"))
    if KIND == "google":
        return GoogleModel(MODEL, provider=GoogleProvider(base_url=BASE, api_key="any"))
    made = OpenAIResponsesModel if KIND == "responses" else OpenAIChatModel
    return made(MODEL, provider=OpenAIProvider(base_url=f"{BASE}/v1", api_key="any"))


async def heard(context: Any, events: Any) -> None:
    """With somebody to hear the events, every request is streamed."""
    async for _ in events:
        pass


async def main(way: str) -> str:
    agent = Agent(model(), system_prompt="Be brief.", tools=[weather])
    if way == "whole":
        return (await agent.run("Does it rain in Köln?")).output
    return (await agent.run("Does it rain in Köln?", event_stream_handler=heard)).output


for way in WAYS.split("+"):
    print(json.dumps({"text": asyncio.run(main(way)), "asked": asked}))
    asked.clear()
