"""What the vendors' published types require of an answer, written down from those types and from nothing of ours.

Taken on 2026-11-15 from the JavaScript SDKs, in which a member without `?` is required: openai 6.49.0,
@anthropic-ai/sdk 1.8.0, @google/genai 2.32.0. The pydantic models of the Python SDKs (openai 3.49.0, anthropic 2.8.0,
google-genai 3.1.0) require fewer members, and none that is not here. `OPEN_RESPONSES` is what the Open Responses
specification (schema `ResponseResource`, `FunctionTool`) requires besides; its compliance suite refuses a response
without one of them.

An entry reads `name` or `name?`: the second may be null. `=word|word` lists the values that the type allows.
"""

from __future__ import annotations

from collections.abc import Mapping

Table = Mapping[str, str]
"""Type → its required members."""

CHAT: Table = {
    "completion": "id created model object=chat.completion choices",
    "choice": "finish_reason=stop|length|tool_calls|content_filter|function_call index logprobs? message",
    "message": "content? refusal? role=assistant",
    "call": "id type=function|custom",
    "function": "name arguments",
    "custom": "name input",
    "audio": "id data expires_at transcript",
    "usage": "prompt_tokens completion_tokens total_tokens",
    "chunk": "id created model object=chat.completion.chunk choices",
    "chunk choice": "delta finish_reason?=stop|length|tool_calls|content_filter|function_call index",
    "chunk call": "index",
    "logprobs": "content? refusal?",
    "token": "token bytes? logprob top_logprobs",
    "annotation": "type=url_citation url_citation",
    "url_citation": "start_index end_index url title",
}
NEVER_NULL = {
    "message": "annotations tool_calls",
    "delta": "function_call role tool_calls",
    "response": "text",
    "reasoning": "content status",
    "text": "citations",
}
"""Members that may be left out, and may not be null.

The type of Anthropic's text block has `citations: null`. Anthropic leaves it out (517 of 517 recorded blocks without
one), and Vercel's AI SDK refuses null.
"""

_STATUS = "status=in_progress|completed|incomplete"
RESPONSES: Table = {
    "response": (
        "id created_at error? incomplete_details? instructions? metadata? model object=response output "
        "parallel_tool_calls temperature? tool_choice tools top_p?"
    ),
    "message": f"id content role=assistant type {_STATUS}",
    "output_text": "annotations text type",
    "refusal": "refusal type",
    "reasoning": "id summary type",
    "summary_text": "text type",
    "reasoning_text": "text type",
    "function_call": f"id arguments call_id name type {_STATUS}",
    "custom_tool_call": "call_id input name type",
    "image_generation_call": "id result? status type",
    "usage": "input_tokens input_tokens_details output_tokens output_tokens_details total_tokens",
    "input_tokens_details": "cache_write_tokens cached_tokens",
    "output_tokens_details": "reasoning_tokens",
    "function": "name parameters? strict? type",
    "url_citation": "start_index end_index title type url",
    "error": "code message",
}
OPEN_RESPONSES: Table = {
    "response": (
        "completed_at? status previous_response_id? truncation=auto|disabled text top_p presence_penalty "
        "frequency_penalty top_logprobs temperature reasoning? user? usage? max_output_tokens? max_tool_calls? store "
        "background service_tier metadata safety_identifier? prompt_cache_key?"
    ),
    "output_text": "logprobs",
    "function": "description?",
    "text": "format",
    "reasoning setting": "effort? summary?",
}
_AT_ITEM = "type sequence_number output_index item_id"
_AT_CONTENT = f"{_AT_ITEM} content_index"
_AT_SUMMARY = f"{_AT_ITEM} summary_index"
RESPONSES_EVENTS: Table = {
    "response.created": "type sequence_number response",
    "response.in_progress": "type sequence_number response",
    "response.completed": "type sequence_number response",
    "response.incomplete": "type sequence_number response",
    "response.failed": "type sequence_number response",
    "response.output_item.added": "type sequence_number output_index item",
    "response.output_item.done": "type sequence_number output_index item",
    "response.content_part.added": f"{_AT_CONTENT} part",
    "response.content_part.done": f"{_AT_CONTENT} part",
    "response.output_text.delta": f"{_AT_CONTENT} delta logprobs",
    "response.output_text.done": f"{_AT_CONTENT} text logprobs",
    "response.output_text.annotation.added": f"{_AT_CONTENT} annotation annotation_index",
    "response.refusal.delta": f"{_AT_CONTENT} delta",
    "response.refusal.done": f"{_AT_CONTENT} refusal",
    "response.reasoning_text.delta": f"{_AT_CONTENT} delta",
    "response.reasoning_text.done": f"{_AT_CONTENT} text",
    "response.reasoning_summary_part.added": f"{_AT_SUMMARY} part",
    "response.reasoning_summary_part.done": f"{_AT_SUMMARY} part",
    "response.reasoning_summary_text.delta": f"{_AT_SUMMARY} delta",
    "response.reasoning_summary_text.done": f"{_AT_SUMMARY} text",
    "response.function_call_arguments.delta": f"{_AT_ITEM} delta",
    "response.function_call_arguments.done": f"{_AT_ITEM} arguments name",
    "response.custom_tool_call_input.delta": f"{_AT_ITEM} delta",
    "response.custom_tool_call_input.done": f"{_AT_ITEM} input",
    **{
        f"response.{item}.{step}": _AT_ITEM
        for item in ("web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "mcp_list_tools")
        for step in ("in_progress", "searching", "interpreting", "completed", "failed")
    },
    "response.code_interpreter_call_code.delta": f"{_AT_ITEM} delta",
    "response.code_interpreter_call_code.done": f"{_AT_ITEM} code",
    "response.mcp_call_arguments.delta": f"{_AT_ITEM} delta",
    "response.mcp_call_arguments.done": f"{_AT_ITEM} arguments",
    "error": "type sequence_number code? message param?",
}

_STOPS = "end_turn|max_tokens|stop_sequence|tool_use|pause_turn|refusal|model_context_window_exceeded"
ANTHROPIC: Table = {
    "message": (
        "id container? content diagnostics? model role=assistant stop_details? "
        f"stop_reason?={_STOPS} stop_sequence? type=message usage"
    ),
    "usage": (
        "cache_creation? cache_creation_input_tokens? cache_read_input_tokens? inference_geo? input_tokens "
        "output_tokens output_tokens_details? server_tool_use? service_tier?=standard|priority|batch "
        "speed?=standard|fast"
    ),
    "text": "text type",  # not `citations`, which the type requires: see `NEVER_NULL`
    "thinking": "signature thinking type",
    "redacted_thinking": "data type",
    "tool_use": "id caller input name type",
    "server_tool_use": "id input name type",
    "stop_details": "category? explanation? type=refusal",
    "message_delta usage": (
        "cache_creation_input_tokens? cache_read_input_tokens? input_tokens? output_tokens output_tokens_details? "
        "server_tool_use?"
    ),
    "message_delta delta": f"container? stop_details? stop_reason?={_STOPS} stop_sequence?",
}
ANTHROPIC_EVENTS: Table = {
    "message_start": "type message",
    "content_block_start": "type index content_block",
    "content_block_delta": "type index delta",
    "content_block_stop": "type index",
    "message_delta": "type delta usage",
    "message_stop": "type",
    "ping": "type",
    "error": "type error",
}
ANTHROPIC_DELTAS: Table = {
    "text_delta": "text type",
    "thinking_delta": "thinking type",
    "signature_delta": "signature type",
    "input_json_delta": "partial_json type",
    "citations_delta": "citation type",
}

GEMINI: Table = {
    # Google's types mark nothing as required. These are the members that Google's own answers of today have: of 423
    # recorded ones, 422 have a model version, 410 an id, and the streams an index.
    "response": "modelVersion responseId",
    "candidate": "index content",
    "content": "role=model",
    "functionCall": "name args",
    "inlineData": "mimeType data",
    "usageMetadata": "promptTokenCount totalTokenCount",
}
GEMINI_FINISH = (
    "STOP MAX_TOKENS SAFETY RECITATION LANGUAGE OTHER BLOCKLIST PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL "
    "IMAGE_SAFETY UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS IMAGE_PROHIBITED_CONTENT NO_IMAGE IMAGE_RECITATION "
    "IMAGE_OTHER"
)

OLLAMA: Table = {
    "line": "model created_at message done",
    "message": "role=assistant content",
    "last line": "done_reason=stop|length|content_filter|refusal|error total_duration load_duration"
    " prompt_eval_duration eval_duration",
    "call": "id function",
    "function": "index name arguments",
}
"""Members that the server always writes (ollama, `api/types.go` of 2026-08-21). A reason that the server does not have
is how a filter of another provider is told."""
COHERE: Table = {
    "answer": "id message finish_reason=COMPLETE|STOP_SEQUENCE|MAX_TOKENS|TOOL_CALL|ERROR|TIMEOUT usage",
    "message": "role=assistant",
    "text": "type=text text",
    "thinking": "type=thinking thinking",
    "call": "id type=function function",
    "function": "name arguments",
    "usage": "billed_units tokens",
    "tokens": "input_tokens output_tokens",
    "citation": "start end text sources type=TEXT_CONTENT|THINKING_CONTENT|PLAN",
    "logprob": "token_ids",
    "end": "finish_reason=COMPLETE|STOP_SEQUENCE|MAX_TOKENS|TOOL_CALL|ERROR|TIMEOUT usage",
}
"""Cohere's types make nearly all members optional. These are in every recorded answer of version 2, or are required by
cohere 7.3.1."""
