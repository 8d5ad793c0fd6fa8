"""The openai package, Responses."""

import json
from typing import Any

import openai
from loop import BASE, SCHEMAS, ClientReport, each, schema

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="any", max_retries=0)
TOOLS: Any = [{"type": "function", "name": name, "parameters": schema(name), "strict": True} for name in SCHEMAS]
SETTINGS: dict[str, Any] = {
    "tools": TOOLS,
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "medium", "summary": "auto"},
}


def response(asked: dict[str, Any], streamed: bool) -> Any:
    if not streamed:
        return client.responses.create(**asked)
    with client.responses.stream(**asked) as stream:
        return stream.get_final_response()


async def loop(one: dict[str, Any], heard: ClientReport) -> None:
    given: list[Any] = [{"role": "user", "content": one["question"]}]
    while True:
        done = response({"model": one["model"], "input": given, **SETTINGS}, one["streamed"])
        for item in done.output:
            if item.type == "reasoning":
                heard.think("".join(part.text for part in item.summary))
        heard.spend(done.usage.input_tokens, done.usage.output_tokens)
        given += [item.to_dict() for item in done.output]
        calls = [item for item in done.output if item.type == "function_call"]
        if not calls:
            heard.text = done.output_text
            return
        for call in calls:
            output = heard.run(call.name, json.loads(call.arguments))
            given.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


each(loop)
