"""The google-genai package."""

from typing import Any

from google import genai
from google.genai import types
from loop import BASE, SCHEMAS, ClientReport, each, schema

client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=BASE))
CONFIG = types.GenerateContentConfig(
    tools=[
        types.Tool(
            function_declarations=[
                types.FunctionDeclaration(name=name, parameters_json_schema=schema(name)) for name in SCHEMAS
            ]
        )
    ],
    thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=2048),
)


def chunks(asked: dict[str, Any], streamed: bool) -> list[Any]:
    if streamed:
        return list(client.models.generate_content_stream(**asked, config=CONFIG))
    return [client.models.generate_content(**asked, config=CONFIG)]


def parts_of(chunk: Any) -> list[Any]:
    content = chunk.candidates[0].content if chunk.candidates else None
    return list(content.parts or ()) if content is not None else []


async def loop(one: dict[str, Any], heard: ClientReport) -> None:
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=one["question"])])]
    while True:
        got = chunks({"model": one["model"], "contents": contents}, one["streamed"])
        parts = [part for chunk in got for part in parts_of(chunk)]
        usage = got[-1].usage_metadata
        heard.think("".join(part.text or "" for part in parts if part.thought))
        written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        heard.spend(usage.prompt_token_count, written)
        contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            heard.text = "".join(part.text or "" for part in parts if not part.thought)
            return
        results = [
            types.FunctionResponse(id=call.id, name=call.name, response={"result": heard.run(call.name, call.args)})
            for call in calls
        ]
        contents.append(types.Content(role="user", parts=[types.Part(function_response=one) for one in results]))


each(loop)
