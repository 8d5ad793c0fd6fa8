"""LangChain. Arguments: BASE MODEL whole+streamed chat|responses|anthropic|google"""

import json
import sys
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI

BASE, MODEL, WAYS, KIND = sys.argv[1:]
asked: list[str] = []


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    asked.append(city)
    return f"It pours in {city}."


def model() -> Any:
    if KIND == "anthropic":
        return ChatAnthropic(model=MODEL, base_url=BASE, api_key="any", max_retries=0)
    if KIND == "google":
        return ChatGoogleGenerativeAI(model=MODEL, google_api_key="any", base_url=BASE, max_retries=1)
    responses = KIND == "responses"
    return ChatOpenAI(model=MODEL, base_url=f"{BASE}/v1", api_key="any", max_retries=0, use_responses_api=responses)


def turn(bound: Any, messages: list[Any], way: str) -> Any:
    if way == "whole":
        return bound.invoke(messages)
    pieces = list(bound.stream(messages))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    return whole


def answer(way: str) -> str:
    bound = model().bind_tools([weather])
    messages: list[Any] = [SystemMessage("Be brief."), HumanMessage("Does it rain in Köln?")]
    while True:
        said = turn(bound, messages, way)
        messages.append(said)
        if not said.tool_calls:
            return str(said.text)
        messages += [ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"]) for call in said.tool_calls]


for way in WAYS.split("+"):
    print(json.dumps({"text": answer(way), "asked": asked}))
    asked.clear()
