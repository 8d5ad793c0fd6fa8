"""pydantic-ai. Arguments: BASE MODEL whole|streamed chat|responses|anthropic|google"""

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

BASE, MODEL, WAY, KIND = sys.argv[1:]
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


async def main() -> str:
    agent = Agent(model(), system_prompt="Be brief.", tools=[weather])
    if WAY == "whole":
        return (await agent.run("Does it rain in Köln?")).output
    async with agent.run_stream("Does it rain in Köln?") as result:
        return await result.get_output()


print(json.dumps({"text": asyncio.run(main()), "asked": asked}))
