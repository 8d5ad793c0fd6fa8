"""The protobuf messages of a request and their fields, after google-genai 3.1.0 and Vertex's discovery document.

The type of a field is a scalar, an enum, a message of this table, `[...]` for a list, `{...}` for a map, `struct` for a
JSON object with any keys, or `any` for a value that is not checked.
"""

from __future__ import annotations

from dragoman.emulators.gemini.proto import Table

ENUMS: dict[str, frozenset[str]] = {
    "Type": frozenset({"TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}),
    "Mode": frozenset({"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"}),
    "HarmCategory": frozenset(
        f"HARM_CATEGORY_{name}"
        for name in (
            *("UNSPECIFIED", "HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT"),
            *("DANGEROUS_CONTENT", "CIVIC_INTEGRITY", "JAILBREAK", "IMAGE_HATE"),
            *("IMAGE_DANGEROUS_CONTENT", "IMAGE_HARASSMENT", "IMAGE_SEXUALLY_EXPLICIT"),
        )
    ),
    "HarmBlockThreshold": frozenset(
        {
            "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
            "BLOCK_LOW_AND_ABOVE",
            "BLOCK_MEDIUM_AND_ABOVE",
            "BLOCK_ONLY_HIGH",
            "BLOCK_NONE",
            "OFF",
        }
    ),
    "ThinkingLevel": frozenset({"THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"}),
}

PART_DATA = {
    "text": "string",
    "inlineData": "Blob",
    "fileData": "FileData",
    "functionCall": "FunctionCall",
    "functionResponse": "FunctionResponse",
    "executableCode": "any",
    "codeExecutionResult": "any",
    "toolCall": "any",
    "toolResponse": "any",
}
"""What a part holds, one of these."""

_SHARED: Table = {
    "GenerateContentRequest": {
        "model": "string",
        "contents": "[Content]",
        "systemInstruction": "Content",
        "tools": "[Tool]",
        "toolConfig": "ToolConfig",
        "generationConfig": "GenerationConfig",
        "safetySettings": "[SafetySetting]",
        "cachedContent": "string",
        "serviceTier": "any",
        "store": "bool",
    },
    "CachedContent": {
        "name": "string",
        "model": "string",
        "displayName": "string",
        "contents": "[Content]",
        "systemInstruction": "Content",
        "tools": "[Tool]",
        "toolConfig": "ToolConfig",
        "ttl": "string",
        "expireTime": "string",
    },
    "Content": {"role": "string", "parts": "[Part]"},
    "Part": {
        **PART_DATA,
        "thought": "bool",
        "thoughtSignature": "bytes",
        "videoMetadata": "any",
        "mediaResolution": "any",
        "audioTranscription": "any",
        "mediaProcessing": "any",
        "speechMetadata": "any",
    },
    "Blob": {"mimeType": "string", "data": "bytes", "displayName": "string"},
    "FileData": {"mimeType": "string", "fileUri": "string", "displayName": "string"},
    "FunctionCall": {"id": "string", "name": "string", "args": "struct"},
    "FunctionResponse": {
        "id": "string",
        "name": "string",
        "response": "struct",
        "parts": "[FunctionResponsePart]",
        "willContinue": "bool",
        "scheduling": "any",
    },
    "FunctionResponsePart": {"inlineData": "Blob", "fileData": "FileData", "mediaProcessing": "any"},
    "Tool": {
        "functionDeclarations": "[FunctionDeclaration]",
        "codeExecution": "any",
        "googleSearch": "any",
        "googleSearchRetrieval": "any",
        "googleMaps": "any",
        "urlContext": "any",
        "fileSearch": "any",
        "computerUse": "any",
        "mcpServers": "any",
    },
    "FunctionDeclaration": {
        "name": "string",
        "description": "string",
        "parameters": "Schema",
        "parametersJsonSchema": "any",
        "response": "Schema",
        "responseJsonSchema": "any",
        "behavior": "any",
    },
    "Schema": {
        "type": "Type",
        "format": "string",
        "title": "string",
        "description": "string",
        "nullable": "bool",
        "default": "any",
        "example": "any",
        "items": "Schema",
        "minItems": "int",
        "maxItems": "int",
        "enum": "[string]",
        "properties": "{Schema}",
        "propertyOrdering": "[string]",
        "required": "[string]",
        "minProperties": "int",
        "maxProperties": "int",
        "minimum": "float",
        "maximum": "float",
        "minLength": "int",
        "maxLength": "int",
        "pattern": "string",
        "anyOf": "[Schema]",
        "defs": "{Schema}",
        "ref": "string",
    },
    "ToolConfig": {
        "functionCallingConfig": "FunctionCallingConfig",
        "retrievalConfig": "any",
        "includeServerSideToolInvocations": "bool",
    },
    "FunctionCallingConfig": {"mode": "Mode", "allowedFunctionNames": "[string]"},
    "GenerationConfig": {
        "temperature": "float",
        "topP": "float",
        "topK": "float",
        "candidateCount": "int",
        "maxOutputTokens": "int",
        "stopSequences": "[string]",
        "presencePenalty": "float",
        "frequencyPenalty": "float",
        "seed": "int",
        "responseMimeType": "string",
        "responseSchema": "Schema",
        "responseJsonSchema": "any",
        "responseFormat": "any",
        "responseModalities": "any",
        "responseLogprobs": "bool",
        "logprobs": "int",
        "thinkingConfig": "ThinkingConfig",
        "speechConfig": "any",
        "imageConfig": "any",
        "mediaResolution": "any",
        "enableAffectiveDialog": "bool",
        "enableEnhancedCivicAnswers": "bool",
        "translationConfig": "any",
        "audioTranscriptionConfig": "any",
    },
    "ThinkingConfig": {"includeThoughts": "bool", "thinkingBudget": "int", "thinkingLevel": "ThinkingLevel"},
    "SafetySetting": {"category": "HarmCategory", "threshold": "HarmBlockThreshold", "method": "any"},
    "CountTokensRequest": {
        "model": "string",
        "contents": "[Content]",
        "generateContentRequest": "GenerateContentRequest",
    },
}


def _with(table: Table, **more: dict[str, str]) -> Table:
    return {name: {**fields, **more.get(name, {})} for name, fields in table.items()}


def _without(table: Table, **fewer: tuple[str, ...]) -> Table:
    return {
        name: {field: kind for field, kind in fields.items() if field not in fewer.get(name, ())}
        for name, fields in table.items()
    }


STUDIO: Table = _with(_SHARED, Part={"partMetadata": "any"})
VERTEX: Table = _with(
    _without(
        _SHARED,
        Part=("toolCall", "toolResponse"),
        Tool=("fileSearch",),
        GenerationConfig=("enableEnhancedCivicAnswers",),
        ToolConfig=("includeServerSideToolInvocations",),
    ),
    GenerateContentRequest={"labels": "struct", "modelArmorConfig": "any"},
    FunctionCall={"partialArgs": "any", "willContinue": "bool"},
    FunctionCallingConfig={"streamFunctionCallArguments": "bool"},
    Schema={"additionalProperties": "any"},
    Tool={"retrieval": "any", "enterpriseWebSearch": "any", "parallelAiSearch": "any", "exaAiSearch": "any"},
    GenerationConfig={"audioTimestamp": "bool", "routingConfig": "any", "modelSelectionConfig": "any"},
    CountTokensRequest={
        "instances": "any",
        "systemInstruction": "Content",
        "tools": "[Tool]",
        "generationConfig": "GenerationConfig",
    },
)
VERTEX_V1: Table = _without(VERTEX, FunctionCall=("id",), FunctionResponse=("id",))
"""Its older version, which has no ids of calls (https://github.com/vercel/ai/issues/15664)."""
