"""The openai package, Chat Completions."""

import json
from typing import Any

import openai
from loop import BASE, SCHEMAS, ClientReport, each, schema

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="any", max_retries=0)
TOOLS: Any = [{"type": "function", "function": {"name": n, "parameters": schema(n), "strict": True}} for n in SCHEMAS]


def completion(asked: dict[str, Any], streamed: bool) -> Any:
    if not streamed:
        return client.chat.completions.create(**asked)
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        return stream.get_final_completion()


async def loop(one: dict[str, Any], heard: ClientReport) -> None:
    messages: list[Any] = [{"role": "user", "content": one["question"]}]
    while True:
        asked = {"model": one["model"], "messages": messages, "tools": TOOLS, "reasoning_effort": "medium"}
        done = completion(asked, one["streamed"])
        message = done.choices[0].message
        heard.think(getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None))
        heard.spend(done.usage.prompt_tokens, done.usage.completion_tokens)
        messages.append(message.to_dict())
        if not message.tool_calls:
            heard.text = message.content
            return
        for call in message.tool_calls:
            content = heard.run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


each(loop)
