"""Training files of OpenAI and those who took over their format: one conversation per line.

- Supervised (https://developers.openai.com/api/docs/guides/supervised-fine-tuning): `{"messages", "tools"}` without a
  model. The last message is the answer to learn. A message may have a `weight`, which is no part of a request.
- Preference (https://developers.openai.com/api/docs/guides/direct-preference-optimization):
  `{"input": {"messages", "tools"}, "preferred_output", "non_preferred_output"}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.transcripts.transcript import JsonObject, Transcript, TranscriptRecord, is_object, objects_at

_SETTINGS = ("tools", "functions", "parallel_tool_calls", "response_format")


def fits_example(value: Any) -> bool:
    if not is_object(value) or "model" in value:
        return False
    if is_object(value.get("input")):
        return "preferred_output" in value and bool(objects_at(value["input"], "messages"))
    messages = objects_at(value, "messages")
    ends = bool(messages) and messages[-1].get("role") == "assistant" and "system" not in value
    return ends or any("weight" in message for message in messages)


def parse_example(records: Sequence[TranscriptRecord]) -> list[Transcript]:
    examples = [record.value for record in records if is_object(record.value)]
    inputs = [example["input"] if is_object(example.get("input")) else example for example in examples]
    return [_transcript(one) for one in inputs if objects_at(one, "messages")]


def _transcript(example: JsonObject) -> Transcript:
    messages = [_without_weight(message) for message in objects_at(example, "messages")]
    while len(messages) > 1 and messages[-1].get("role") == "assistant":
        messages.pop()
    return Transcript({"messages": messages, **{name: example[name] for name in _SETTINGS if name in example}})


def _without_weight(message: JsonObject) -> JsonObject:
    return {key: value for key, value in message.items() if key != "weight"}
