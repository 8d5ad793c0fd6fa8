"""LangChain. Kinds: chat, responses, anthropic, google"""

from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from loop import BASE, KIND, ClientReport, each


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return city


@tool
def wind(place: str, days: int) -> str:
    """The wind at a place for some days."""
    return place


def model(name: str) -> Any:
    if KIND == "anthropic":
        thinking = {"type": "enabled", "budget_tokens": 2048}
        return ChatAnthropic(
            model=name, base_url=BASE, api_key="any", max_retries=0, max_tokens=8192, thinking=thinking
        )
    if KIND == "google":
        return ChatGoogleGenerativeAI(
            model=name,
            google_api_key="any",
            base_url=BASE,
            max_retries=1,
            include_thoughts=True,
            thinking_budget=2048,
        )
    settings: dict[str, Any] = {"reasoning_effort": "medium"}
    if KIND == "responses":
        settings = {
            "use_responses_api": True,
            "reasoning": {"effort": "medium", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "store": False,
        }
    return ChatOpenAI(model=name, base_url=f"{BASE}/v1", api_key="any", max_retries=0, stream_usage=True, **settings)


def turn(bound: Any, messages: list[Any], streamed: bool) -> Any:
    if not streamed:
        return bound.invoke(messages)
    pieces = list(bound.stream(messages))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    return whole


async def loop(one: dict[str, Any], heard: ClientReport) -> None:
    bound = model(one["model"]).bind_tools([weather, wind])
    messages: list[Any] = [SystemMessage("Be brief."), HumanMessage(one["question"])]
    while True:
        said = turn(bound, messages, one["streamed"])
        messages.append(said)
        heard.think(
            "".join(block.get("reasoning", "") for block in said.content_blocks if block["type"] == "reasoning")
        )
        heard.spend(said.usage_metadata["input_tokens"], said.usage_metadata["output_tokens"])
        if not said.tool_calls:
            heard.text = str(said.text)
            return
        for call in said.tool_calls:
            messages.append(ToolMessage(heard.run(call["name"], call["args"]), tool_call_id=call["id"]))


each(loop)
