"""What models of Ollama's library can do, by their names. The server asks the model's own files."""

from __future__ import annotations

from fnmatch import fnmatchcase

_EMBEDDING = ("nomic-embed*", "mxbai-embed*", "all-minilm*", "bge-*", "snowflake-arctic-embed*", "embeddinggemma*")
_THINKING = ("qwen3*", "gemma4*", "deepseek-r1*", "deepseek-v3.1*", "gpt-oss*", "magistral*")
_NOT_THINKING = ("qwen3-coder*", "qwen2.5-coder*", "llama3.1*")
_WITHOUT_TOOLS = (
    *("gemma", "gemma:*", "gemma[23]*", "llama3", "llama3:*"),
    *("llava*", "llama2*", "codellama*", "moondream*", "tinyllama*"),
)
_SEEING = ("gemma3*", "llava*", "llama3.2-vision*", "qwen*vl*", "moondream*", "mistral-small3*")
CONTEXT_LENGTH = 40960
LISTED = ("qwen3:8b", "llama3.1:8b", "gemma3:4b", "gpt-oss:20b")


def has_levels(model: str) -> bool:
    """Whether the model thinks by levels, and not only on or off."""
    return model.rpartition("/")[2].lower().startswith("gpt-oss")


def never_thinks(model: str) -> bool:
    """Whether it is known that the model does not think; of a name that is not known, nobody knows."""
    return _is_one(model.rpartition("/")[2].lower(), _NOT_THINKING)


def capabilities(model: str) -> tuple[str, ...]:
    """The abilities of a model, in the server's words. A name that is not known is a plain model with tools."""
    name = model.rpartition("/")[2].lower()
    if _is_one(name, _EMBEDDING):
        return ("embedding",)
    found = ["completion"]
    if not _is_one(name, _WITHOUT_TOOLS):
        found.append("tools")
    if _is_one(name, _THINKING) and not _is_one(name, _NOT_THINKING):
        found.append("thinking")
    if _is_one(name, _SEEING):
        found.append("vision")
    return tuple(found)


def full_name(model: str) -> str:
    """The name with its registry and tag, as the server writes it in a refusal."""
    tagged = model if ":" in model.rpartition("/")[2] else f"{model}:latest"
    return tagged if model.count("/") > 1 else f"registry.ollama.ai/{tagged if '/' in model else 'library/' + tagged}"


def _is_one(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
