"""The anthropic package."""

from typing import Any

import anthropic
from loop import BASE, SCHEMAS, ClientReport, each, schema

client = anthropic.Anthropic(base_url=BASE, api_key="any", max_retries=0)
SETTINGS: dict[str, Any] = {
    "tools": [{"name": name, "input_schema": schema(name)} for name in SCHEMAS],
    "thinking": {"type": "enabled", "budget_tokens": 2048},
    "max_tokens": 8192,
}


def message(asked: dict[str, Any], streamed: bool) -> Any:
    if not streamed:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message()


async def loop(one: dict[str, Any], heard: ClientReport) -> None:
    messages: list[Any] = [{"role": "user", "content": one["question"]}]
    while True:
        done = message({"model": one["model"], "messages": messages, **SETTINGS}, one["streamed"])
        for block in done.content:
            if block.type == "thinking":
                heard.think(block.thinking)
        cached = (done.usage.cache_read_input_tokens or 0) + (done.usage.cache_creation_input_tokens or 0)
        heard.spend(done.usage.input_tokens + cached, done.usage.output_tokens)
        messages.append({"role": "assistant", "content": done.content})
        calls = [block for block in done.content if block.type == "tool_use"]
        if not calls:
            heard.text = getattr(done.content[-1], "text", "")  # as agents do: the last block is the answer
            return
        results = [(call.id, heard.run(call.name, call.input)) for call in calls]
        blocks = [{"type": "tool_result", "tool_use_id": key, "content": text} for key, text in results]
        messages.append({"role": "user", "content": blocks})


each(loop)
