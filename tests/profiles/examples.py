"""Model names as people write them, per profile that has globs. Each glob must be met by one of the names."""

from __future__ import annotations

LOCAL: tuple[str, ...] = (
    "Qwen3.5-9B",
    "qwen-3.5-35b",
    "qwen3-4b-thinking-2507",
    "qwen3-30b-a3b-instruct-2507",
    "qwen3-coder-30b",
    "qwen3_5-9b",
    "Mistral-7B-Instruct",
    "Mistral-Nemo",
    "Mixtral-8x7B",
)
LOCAL += ("Mistral-Small-3.2-24B-Instruct-2506-Q4_K_M", "gemma-2-9b-it", "gemma2:9b", "Llama-3.3-70B")

CLAUDE: tuple[str, ...] = (
    "claude-2.1",
    "claude-v2",
    "claude-instant-1.2",
    "claude-3-5-haiku-20241022",
    "claude-3-haiku-20240307",
    "claude-4",
    "claude-4-sonnet",
)
CLAUDE += ("claude-4.5-sonnet", "claude-4-6-opus", "claude-4.7-opus", "claude-sonnet-5", "claude-5-sonnet")
CLAUDE += ("claude-fable-5", "claude-mythos", "claude-opus-4.8", "claude-opus-4-8-20260801", "claude-opus-5")
CLAUDE += tuple(
    f"claude-{family}-{version}"
    for family in ("opus", "sonnet", "haiku")
    for version in (
        "3",
        "3.5",
        "4",
        "4:thinking",
        "4@20250514",
        "4-latest",
        "4-0",
        "4-20250514",
        "4-5-20250929",
        "4.6",
        "4-7",
    )
)

GPT: tuple[str, ...] = (
    "gpt-3.5-turbo",
    "gpt-4-turbo",
    "gpt-4",
    "gpt-4o-mini",
    "gpt-4.1-nano-2025-04-14",
    "chatgpt-4o-latest",
    "gpt-5",
    "gpt-5-mini",
)
GPT += ("gpt-5-2025-08-07", "gpt-5_2025", "gpt-5.1", "gpt-5.2-2025-12-11", "gpt-5.3-codex", "gpt-5.4-mini", "gpt-5.5")
GPT += ("gpt-5.6-terra", "gpt-6-astra", "gpt-5-chat-latest", "gpt-5-search-api", "gpt-audio", "gpt-realtime")
GPT += ("gpt-4o-audio-preview", "gpt-oss-120b", "ft:gpt-4o:me", "davinci-002", "babbage-002", "o1", "o1-2024-12-17")
GPT += ("o1-pro", "o1-mini", "o3", "o3-mini", "o4-mini-2025-04-16", "openai/o1", "openai/o1-2024-12-17")
GPT += ("openai/o1-pro", "openai/o1-mini", "openai/o3-mini", "openai/o4-mini", "openai/o3", "computer-use-preview")
GPT += ("gpt-5.1-codex", "gpt-5.2-codex", "codex-mini-latest", "gpt-5-pro", "gpt-5.2-pro", "o3-pro", "openai/o3-pro")
GPT += ("o4-mini-deep-research",)
GPT += ("gpt-4", "openai/gpt-4", "gpt-4-0613", "gpt-4-32k", "gpt-3.5-turbo", "o1-preview")

GEMINI: tuple[str, ...] = (
    "gemini-1.5-pro",
    "gemini-1.5-pro-002",
    "gemini-2.0-flash",
    "models/gemini-2.0-flash",
    "gemini-2.0-flash-thinking-exp",
)
GEMINI += (
    "gemini-2.5-flash",
    "gemini-2-flash",
    "gemini-3-pro-preview",
    "gemini-3-pro-image-preview",
    "gemini-3.5-flash",
)
GEMINI += ("gemini-3.5-flash", "gemini-pro", "gemini-pro-vision", "gemini-exp-1206", "gemini-flash-latest")
GEMINI += ("gemma-3-27b-it", "learnlm-2.0")

BEDROCK: tuple[str, ...] = tuple(f"us.anthropic.{name}{end}" for name in CLAUDE for end in ("", "-v1:0"))
BEDROCK += ("anthropic.claude-v2", "anthropic.claude-instant-v1", "us.amazon.nova-2-lite-v1:0", "amazon.nova-pro-v1:0")
BEDROCK += ("amazon.titan-text-express-v1", "meta.llama3-3-70b-instruct-v1:0", "us.meta.llama3-2-1b-instruct-v1:0")
BEDROCK += ("us.meta.llama4-scout-17b-instruct-v1:0", "us.meta.llama3-2-90b-instruct-v1:0", "amazon.nova-micro-v1:0")
BEDROCK += ("us.meta.llama3-2-3b-instruct-v1:0", "us.meta.llama3-2-11b-instruct-v1:0", "deepseek.r1-v1:0")
BEDROCK += ("mistral.mistral-small-2402-v1:0", "mistral.mistral-7b-instruct-v0:2", "mistral.mixtral-8x7b-instruct-v0:1")
BEDROCK += ("mistral.mistral-large-2407-v1:0", "mistral.mistral-large-3-675b-instruct", "openai.gpt-oss-120b-1:0")
BEDROCK += ("openai.gpt-5.6-sol",)
BEDROCK += ("moonshot.kimi-k2-thinking", "qwen.qwen3-32b-v1:0", "google.gemma-3-27b-it", "minimax.minimax-m2")
BEDROCK += ("zai.glm-4.7", "cohere.command-r-plus-v1:0", "ai21.jamba-1-5-large-v1:0", "us.writer.palmyra-x5-v1:0")
BEDROCK += ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",)

EXAMPLES: dict[str, tuple[str, ...]] = {
    "openai": GPT,
    "openai-responses": GPT,
    "azure-openai-responses": ("gpt-4o", "gpt-5-mini", "my-deployment", "google-one", "openllmetry"),
    "azure-anthropic": ("claude-sonnet-4-5", "claude-opus-4-8"),
    "azure-foundry": ("grok-3-mini", "some-model"),
    "vertex-anthropic": ("claude-sonnet-4-5@20250929", "claude-sonnet-4-6", "claude-opus-4-8"),
    "azure-openai": (
        "gpt-4o",
        "gpt-35-turbo",
        "gpt-5-mini",
        "gpt-5.6",
        "gpt-6-sol",
        "my-deployment",
        "google-one",
        "openllmetry",
        "my-gpt-5",
    ),
    "anthropic": CLAUDE,
    "anthropic-compatible": (*CLAUDE, "deepseek-chat", "kimi-k2"),
    "anthropic-compatible-strict": (*CLAUDE, "deepseek-chat", "kimi-k2"),
    "gemini": GEMINI,
    "vertex": GEMINI,
    "gemini-openai": GEMINI,
    "gemini-compatible": ("gemini-2.5-flash",),
    "gemini-native-compatible": GEMINI,
    "gemini-native-compatible-strict": GEMINI,
    "bedrock": BEDROCK,
    "bedrock-anthropic": tuple(f"us.anthropic.{name}-v1:0" for name in CLAUDE),
    "openrouter": (
        *(f"anthropic/{name}" for name in CLAUDE),
        "claude-opus-4.8",
        "minimax/minimax-m2.5",
        "moonshotai/kimi-k2.5",
        "x-ai/grok-4.3",
        "google/gemini-3-pro-preview",
        "gemini-3-flash-preview",
        "stepfun/step-3.5-flash",
        "moonshotai/kimi-k2",
        "moonshotai/kimi-k2-thinking",
        "z-ai/glm-4.6",
        "z-ai/glm-4.5-air",
        "z-ai/glm-5",
        "z-ai/glm-5.1",
        "qwen/qwen3-coder",
        "qwen/qwen3-32b",
        "openai/gpt-oss-120b",
        "openai/gpt-3.5-turbo",
        "openai/o3-mini",
        "openai/gpt-4",
        "meta-llama/llama-3-70b-instruct",
        "meta-llama/llama-3.3-70b-instruct",
        "mistralai/codestral-2508",
        "x-ai/grok-3-mini",
        "deepseek/deepseek-r1",
        "google/gemini-2.5-flash",
        "google/gemma-3-27b-it",
        "gemini-2.0-flash-exp",
        "gemini",
        "acme/my-gemini",
        "openai/gpt-4o",
        "mistralai/mistral-large",
        "mistral-small",
        "deepseek/deepseek-v4",
        "x-ai/grok-4.1-fast",
    ),
    "mistral": (
        "mistral-large-latest",
        "mistral-large-2407",
        "codestral-latest",
        "devstral-latest",
        "pixtral-12b",
        "mistral-small-latest",
        "mistral-small-2402",
        "ministral-3b-latest",
        "mistral-medium-latest",
        "mistral-tiny",
        "open-mistral-7b",
        "open-mixtral-8x7b",
    ),
    "deepseek": ("deepseek-v4-flash", "deepseek-reasoner", "deepseek-chat", "deepseek-coder", "deepseek-v3.2"),
    "groq": (
        "llama3-8b-8192",
        "qwen/qwen3-32b",
        "moonshotai/kimi-k2-instruct-0905",
        "openai/gpt-oss-120b",
        "allam-2-7b",
        "llama-3.3-70b-versatile",
        "gemma2-9b-it",
        "allam-2-7b",
        "mixtral-8x7b",
        "mistral-saba-24b",
        "compound-beta",
        "groq/compound",
        "deepseek-r1-distill-llama-70b",
        "openai/gpt-oss-120b",
        "qwen/qwen3-32b",
        "moonshotai/kimi-k2-instruct-0905",
        "meta-llama/llama-4-scout-17b-16e-instruct",
    ),
    "xai": ("grok-4-fast", "grok-4.20-0309-non-reasoning", "grok-3-mini", "grok-build-1", "grok-composer-2.5-fast"),
    "xai-responses": ("grok-4.3",),
    "zai": ("glm-4v", "glm-4v-flash", "glm-4.7", "glm-4.5-air", "glm-5.3", "glm-5", "glm-5-air", "glm-5.1"),
    "moonshot": (
        "moonshot-v1-8k",
        "moonshot-v1-32k",
        "moonshot-v1-128k",
        "moonshot-v1-auto",
        "kimi-k2.7-code",
        "kimi-k3",
        "moonshot-v1-8k",
        "kimi-latest",
        "kimi-k2",
        "kimi-k2-0905-preview",
        "kimi-k2-turbo-preview",
        "kimi-k2-instruct",
        "kimi-k2-thinking",
        "kimi-k2.5",
    ),
    "qwen": (
        "qwen-plus",
        "qwen-flash",
        "qwen-turbo",
        "qvq-max",
        "qwen3-30b-a3b-instruct-2507",
        "qwen3-32b",
        "qwen3-max",
        "qwen3.5-plus",
        "qwq-plus",
        "qwen3-coder-plus",
        "qwen3-235b-a22b-thinking-2507",
    ),
    "minimax": ("MiniMax-M2", "MiniMax-M1", "MiniMax-M3"),
    "cerebras": ("gpt-oss-120b",),
    "together": ("mistralai/Mixtral-8x7B-Instruct-v0.1", "openai/gpt-oss-120b"),
    "fireworks": (
        "accounts/fireworks/models/kimi-k2",
        "accounts/fireworks/models/deepseek-r1",
        "accounts/fireworks/models/qwen3-235b-a22b",
        "accounts/fireworks/models/qwen3-coder-480b-a35b-instruct",
        "accounts/fireworks/models/gpt-oss-120b",
        "accounts/fireworks/models/llama-v3p3-70b-instruct",
    ),
    "perplexity": ("sonar",),
    "cohere": (
        "command-a-plus-05-2026",
        "command-a-reasoning-08-2025",
        "command-a-03-2025",
        "command-r7b-12-2024",
        "command",
        "command-light",
        "command-nightly",
        "c4ai-aya-expanse-32b",
        "c4ai-command-r",
    ),
    "cohere-openai": ("command-a-03-2025",),
    "ollama": (
        "qwen3:4b",
        "qwen3-coder:30b",
        "deepseek-r1:8b",
        "deepseek-v3.1",
        "gpt-oss:20b",
        "magistral",
        *("llama3", "llama3:8b", "llama3.1", "llama3.1:8b", "codellama:7b", "qwen2.5-coder", "qwen2.5-coder:1.5b"),
        *("gemma3", "gemma3:4b", "gemma4:31b"),
        "llava",
        "llama2",
        "codellama",
        "moondream",
        "tinyllama",
    ),
    "ollama-openai": (
        *("qwen3:4b", "deepseek-r1:8b", "deepseek-v3.1:671b", "magistral:24b", "qwen3-coder:30b"),
        *("llama3", "llama3:8b", "llama3.1", "llama3.1:8b", "codellama", "codellama:7b", "gemma3", "gemma3:4b"),
        *("qwen2.5-coder", "qwen2.5-coder:1.5b"),
    ),
    "vllm": (*LOCAL, "moonshotai/Kimi-K2.5"),
    "llamacpp": LOCAL,
    "lmstudio": LOCAL,
    "sglang": LOCAL,
    "openai-compatible": ("some-model", "claude-sonnet-4-5"),
    "openai-compatible-strict": ("some-model", "claude-sonnet-4-5"),
    "openai-compatible-lenient": ("some-model", "claude-sonnet-4-5"),
}


def examples_of(profile: str) -> tuple[str, ...]:
    return EXAMPLES.get(profile, ("some-model",))
