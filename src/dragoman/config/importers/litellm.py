"""LiteLLM's `config.yaml`: `model_list`, `router_settings`, `litellm_settings`, `general_settings`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.config.importers import ollama_server
from dragoman.config.importers.foreign_config import (
    ForeignSection,
    Imported,
    ImportNote,
    hash_client_key,
    variable_reference,
    whole_number,
    without_empty,
)
from dragoman.config.importers.vendor_hosts import profile_at
from dragoman.profiles.profile import builtin_names

# LiteLLM's prefix → the profile, if they differ.
PROFILES = {
    "azure": "azure-openai",
    "azure_ai": "azure-foundry",
    "cohere_chat": "cohere",
    "custom_openai": "openai-compatible",
    "dashscope": "qwen",
    "fireworks_ai": "fireworks",
    "hosted_vllm": "vllm",
    "litellm_proxy": "openai-compatible",
    "llamafile": "llamacpp",
    "lm_studio": "lmstudio",
    "azure_text": "azure-openai",
    "bedrock_converse": "bedrock",
    "ollama_chat": ollama_server.NATIVE,
    "openai_like": "openai-compatible",
    "together_ai": "together",
    "vertex_ai": "vertex",
}
# A model without a prefix: LiteLLM guesses from its name.
GUESSES = (
    (re.compile(r"gpt-|o\d|chatgpt-"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gemini-"), "vertex_ai"),
    (re.compile(r"command-"), "cohere"),
)
# A vendor's prefix with an address of its own: the dialect, and the profile if no vendor owns the address.
ELSEWHERE = {
    "openai": ("openai-chat", "openai-compatible"),
    "anthropic": ("anthropic", "anthropic-compatible"),
    "gemini": ("gemini", "gemini-native-compatible"),
}
# LiteLLM's strategies → those of routes.
STRATEGIES = {
    "simple-shuffle": "weighted",
    "least-busy": "least_busy",
    "latency-based-routing": "fastest",
    "cost-based-routing": "cheapest",
    "usage-based-routing": "least_busy",
    "usage-based-routing-v2": "least_busy",
}
# Prices of one token → those of a million.
PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "written": "cache_creation_input_token_cost",
    "audio": "input_cost_per_audio_token",
}
PERIODS = {"1d": "day", "24h": "day", "30d": "month", "1mo": "month", "31d": "month"}
FALLBACKS = {
    "fallbacks": None,
    "context_window_fallbacks": "context_length",
    "content_policy_fallbacks": "content_filter",
}
HINTS = {
    **dict.fromkeys(
        ("success_callback", "failure_callback", "callbacks", "service_callback"),
        "has no counterpart: every request is in the ledger, the log, `/metrics` and OpenTelemetry's traces",
    ),
    **dict.fromkeys(
        ("redis_host", "redis_port", "redis_password", "redis_url"),
        "is not imported: `store.hot` is the Redis in which replicas share limits and cooldowns",
    ),
    **dict.fromkeys(
        ("database_url", "store_model_in_db"),
        "is not imported: keys are made with `dragoman keys create`, and `store.ledger` is a PostgreSQL for the ledger",
    ),
    **dict.fromkeys(("cache", "cache_params"), "has no counterpart: answers are not cached"),
    **dict.fromkeys(
        ("max_budget", "budget_duration", "provider_budget_config"),
        "has no counterpart: budgets belong to keys, and limits of a minute to models (`rate_limits`)",
    ),
    "mode": "is not needed: the path of a request says what it asks for",
    "json_logs": "is not needed: the log is JSON",
    "turn_off_message_logging": "is not needed: conversations are not logged unless `log.content` says so",
    "enable_pre_call_checks": "is not needed: what is too long goes to the fallbacks for `context_length`",
    "retry_policy": "has no counterpart: `retries.attempts` counts for every failure that is worth a retry",
    "allowed_fails_policy": "has no counterpart: `cooldown.failures` counts 5xx and timeouts",
    "guardrails": "has no counterpart: contents are not judged",
    "mcp_servers": "is not imported: MCP servers whose tools the gateway calls are `tool_servers`",
    "pass_through_endpoints": "has no counterpart: only the routes of the reference are served",
    "max_parallel_requests": "is not imported: `rate_limits` of a model, or `server.max_concurrent`",
    "tags": "has no counterpart: `allowed_models` of a key decides who may ask for what",
    "enable_tag_filtering": "has no counterpart: `allowed_models` of a key decides who may ask for what",
}
"""What to do about a key that is not imported."""
OLLAMA_OPTIONS = (
    *("num_ctx", "num_predict", "num_keep", "num_gpu", "num_thread", "repeat_penalty", "repeat_last_n", "min_p"),
    *("typical_p", "mirostat", "mirostat_eta", "mirostat_tau", "tfs_z", "keep_alive", "think", "format"),
)
OPTIONS = [
    *("temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "seed", "stop", "frequency_penalty"),
    *("presence_penalty", "n", "reasoning_effort", "thinking", "response_format", "tools", "tool_choice"),
    *("parallel_tool_calls", "user", "logprobs", "top_logprobs", "logit_bias", "service_tier", "metadata"),
]


_VARIABLE = "is a variable; put it into .env next to the file; not imported"


def import_litellm(document: object, process: Mapping[str, str]) -> Imported:
    """Translate one file. `process` is the environment, which may hold the master key."""
    notes: list[ImportNote] = []
    source = ForeignSection(document, "", notes)
    models = _Models(_credentials(source))
    for entry in source.items("model_list"):
        models.add(entry)
    # LiteLLM's router takes what its own section says, and else what the other says.
    settings = [source.section("router_settings"), source.section("litellm_settings")]
    config: dict[str, Any] = {"providers": models.providers, "models": models.models, "routes": models.routes}
    _general(source.section("general_settings"), config, process)
    for section in settings:
        _strategy(section, models)
    models.order()
    for section in settings:
        _fallbacks(section, models)
    for section in settings:
        _default_fallbacks(section, models)
    models.share_failures()
    for section in settings:
        _retries(section, models)
        _settings(section, models)
        _budget(section, config)
        if section.take("set_verbose"):
            config["log"] = {"level": "debug"}
        section.note_rest(hints=HINTS)
    variables = source.section("environment_variables")
    # Any of them may be a secret.
    variables.note_rest(hints=dict.fromkeys(variables.left(), _VARIABLE))
    source.note_rest(hints=HINTS)
    return Imported(without_empty(config), tuple(notes))


def _credentials(source: ForeignSection) -> dict[str, Mapping[str, Any]]:
    """What deployments may name instead of a key and an address of their own."""
    found = {}
    for entry in source.items("credential_list"):
        values, name = entry.take("credential_values"), entry.take("credential_name")
        entry.take("credential_info")
        if isinstance(values, Mapping):
            found[str(name)] = values
        entry.note_rest()
    return found


class _Models:
    """Collects the models and their providers: one provider per prefix, address and key. Several deployments of one
    name become a route that shares requests out among them."""

    def __init__(self, credentials: Mapping[str, Mapping[str, Any]]) -> None:
        self._credentials = credentials
        self._orders: dict[str, float] = {}
        self.providers: dict[str, dict[str, Any]] = {}
        self.models: dict[str, dict[str, Any]] = {}
        self.routes: dict[str, dict[str, Any]] = {}
        self._names: dict[str, str] = {}

    def add(self, entry: ForeignSection) -> None:
        public = str(entry.take("model_name", default=""))
        params = entry.section("litellm_params")
        self._take_credentials(params)
        order = _amount(params, "order", params.take("order"))
        model = str(params.take("model", default=""))
        prefix, name = _split(model, params.take("custom_llm_provider"))
        cloud, name = _cloud(prefix, name)
        provider = self._provider(cloud, params) if model else None
        if not model:
            entry.note("", "names no model; not imported")
        if provider is not None:
            profile = str(self.providers[provider]["profile"])
            member = self._name_deployment(
                entry, public or model, f"{provider}/{name}", _model_fields(params, entry, profile)
            )
            if order is not None and member:
                self._orders[member] = order
        params.note_rest(hints=HINTS)
        entry.note_rest()

    def order(self) -> None:
        """Deployments that have an order are asked in it, as long as they can answer."""
        for route in self.routes.values():
            if any(member in self._orders for member in route["models"]):
                route["models"].sort(key=lambda member: self._orders.get(member, float("inf")))
                route["strategy"] = "order"

    def share_failures(self) -> None:
        """A deployment that fails is followed by the others of its name, and then by the fallbacks."""
        for route in self.routes.values():
            for member in route["models"]:
                others = [other for other in route["models"] if other != member]
                model = self.models[member]
                if "fallbacks" in model:
                    model["fallbacks"] = list(dict.fromkeys([*others, *model["fallbacks"]]))

    def _take_credentials(self, params: ForeignSection) -> None:
        name = params.take("litellm_credential_name")
        if name is None:
            return
        if str(name) not in self._credentials:
            params.note("litellm_credential_name", f'"{name}" is not in credential_list; set api_key of the provider')
        else:
            params.add(self._credentials[str(name)])

    def members(self, public: str) -> list[str]:
        """The models behind a name: itself, or the deployments that share it."""
        return self.routes[public]["models"] if public in self.routes else [public]

    def knows(self, public: str) -> bool:
        return public in self.models or public in self.routes

    def _provider(self, prefix: str, params: ForeignSection) -> str | None:
        fields = _provider_fields(prefix, params)
        if fields["profile"] not in builtin_names():
            params.note("model", f'"{prefix}" is no provider that is known here; not imported')
            return None
        identity = json.dumps(fields, sort_keys=True)
        if identity not in self._names:
            number = sum(1 for name in self.providers if re.fullmatch(rf"{re.escape(prefix)}(-\d+)?", name))
            self._names[identity] = prefix if not number else f"{prefix}-{number + 1}"
            self.providers[self._names[identity]] = fields
        return self._names[identity]

    def _name_deployment(self, entry: ForeignSection, public: str, target: str, fields: dict[str, Any]) -> str:
        """The name that the deployment has here; empty if it is no model of its own."""
        if not _is_good_pattern(public, target):
            entry.note(
                "", f'"{public}" to "{target}" is a pattern without a counterpart; bare names find their provider'
            )
        elif not self.knows(public):
            self.models[public] = {"target": target, **fields}
            return public
        elif "*" in public:
            entry.note("", f'another deployment of the pattern "{public}": imported as a fallback')
            self.models[public].setdefault("fallbacks", []).append(target)
        else:
            return self._share_name(entry, public, {"target": target, **fields})
        return ""

    def _share_name(self, entry: ForeignSection, public: str, deployment: dict[str, Any]) -> str:
        """One more deployment of a name: the name becomes a route."""
        if public not in self.routes:
            self.models[f"{public}-1"] = {**self.models.pop(public), "hidden": True}
            if public in self._orders:
                self._orders[f"{public}-1"] = self._orders.pop(public)
            self.routes[public] = {"models": [f"{public}-1"], "strategy": "weighted"}
        number = len(self.routes[public]["models"]) + 1
        self.models[f"{public}-{number}"] = {**deployment, "hidden": True}
        self.routes[public]["models"].append(f"{public}-{number}")
        entry.note("", f'another deployment of "{public}": requests are shared out by the route "{public}"')
        return f"{public}-{number}"


def _is_good_pattern(public: str, target: str) -> bool:
    provider, _, model = target.partition("/")
    stars = public.count("*"), model.count("*")
    return "*" not in provider and stars[0] <= 1 and stars[1] <= stars[0] and bool(model)


def _cloud(prefix: str, name: str) -> tuple[str, str]:
    """The prefix and the model of a cloud that has several endpoints: by what stands before the model, or by its
    maker."""
    if prefix == "bedrock":
        for endpoint, kind in (("converse/", "bedrock"), ("invoke/", "bedrock-anthropic")):
            if name.startswith(endpoint):
                return kind, name.removeprefix(endpoint)
    if prefix in ("vertex_ai", "vertex_ai_beta") and "claude" in name:
        return "vertex-anthropic", name.removeprefix("anthropic/")
    if prefix == "azure_ai" and "claude" in name:
        return "azure-anthropic", name
    if prefix == "azure" and name.startswith("responses/"):
        return "azure-openai-responses", name.removeprefix("responses/")
    if prefix == "openai" and name.startswith("responses/"):
        return "openai-responses", name.removeprefix("responses/")
    return prefix, name


def _split(model: str, named: Any) -> tuple[str, str]:
    if named:
        return str(named), model.removeprefix(f"{named}/")
    prefix, slash, name = model.partition("/")
    if slash:
        return prefix, name
    guess = next((prefix for pattern, prefix in GUESSES if pattern.match(model)), "openai")
    return guess, model


def _provider_fields(prefix: str, params: ForeignSection) -> dict[str, Any]:
    base = _value(params.take("api_base", "base_url", "aws_bedrock_runtime_endpoint"))
    key = params.take("api_key")
    if isinstance(key, str) and key and not key.startswith("os.environ/"):
        params.note("api_key", "is in the file in plain text; an environment variable is safer")
    timeouts = without_empty({"total": params.take("timeout"), "first_byte": params.take("stream_timeout")})
    _note_credentials(params)
    attempts = whole_number(params, "max_retries", params.take("max_retries", "num_retries"), plus=1)
    return without_empty(
        {
            "profile": _profile(prefix, base),
            "base_url": _sdk_base(prefix, base),
            "cloud": _place(prefix, params),
            "api_key": _value(key),
            "organization": _value(params.take("organization")),
            "headers": _headers(params.take("extra_headers", "headers")),
            "timeouts": timeouts,
            "retries": without_empty({"attempts": attempts}),
        }
    )


def _note_credentials(params: ForeignSection) -> None:
    """Credentials of clouds come from where the cloud's own tools look for them."""
    places = {
        "aws_access_key_id": "AWS_ACCESS_KEY_ID",
        "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
        "aws_session_token": "AWS_SESSION_TOKEN",
    }
    for name, variable in places.items():
        if params.take(name) is not None:
            params.note(name, f"credentials of a cloud come from the environment; set {variable}")
    for name in ("vertex_credentials", "vertex_ai_credentials"):
        if params.take(name) is not None:
            where = "GOOGLE_APPLICATION_CREDENTIALS or cloud.account"
            params.note(name, f"credentials of a cloud come from the environment; set {where}")


def _place(prefix: str, params: ForeignSection) -> dict[str, Any]:
    """Where in a cloud the models are."""
    version = params.take("api_version")
    if version is not None and not prefix.startswith("azure"):
        params.note("api_version", f"{version} is only taken for Azure; not imported")
        version = None
    return without_empty(
        {
            "region": _value(params.take("aws_region_name", "vertex_location", "vertex_ai_location")),
            "project": _value(params.take("vertex_project", "vertex_ai_project")),
            "api_version": _value(version),
            "account": _value(params.take("aws_profile_name")),
        }
    )


def _profile(prefix: str, base: str | None) -> str:
    named = PROFILES.get(prefix, prefix)
    if named in ollama_server.PROFILES:
        return ollama_server.api_at(base)
    dialect, elsewhere = ELSEWHERE.get("openai" if named == "openai-compatible" else prefix, ("", ""))
    if not base or not dialect:
        return named
    return profile_at(base, dialect) or elsewhere


def _sdk_base(prefix: str, base: str | None) -> str | None:
    """The base URL as the vendor's SDK takes it. LiteLLM also takes the whole path of an endpoint."""
    if base is None:
        return None
    if PROFILES.get(prefix, prefix) in ollama_server.PROFILES:
        return ollama_server.server_root(base)
    endings: tuple[str, ...] = ("/v1/messages", "/v1") if prefix == "anthropic" else ("/chat/completions",)
    if prefix.startswith("azure"):
        base = _AZURE_PATHS.split(base, maxsplit=1)[0]
    for ending in endings:
        base = base.rstrip("/").removesuffix(ending)
    return base


_AZURE_PATHS = re.compile("/(?:openai|models|anthropic)(?:/|$)")
"""What follows an Azure resource's address, which the profile says itself."""


def _model_fields(params: ForeignSection, entry: ForeignSection, profile: str) -> dict[str, Any]:
    is_ollama = profile in ollama_server.PROFILES
    taken = (*OPTIONS, *OLLAMA_OPTIONS) if is_ollama else OPTIONS
    options = {name: value for name in taken if (value := params.take(name)) is not None}
    options |= params.take("extra_body", default={}) or {}
    options = ollama_server.options_for(profile, options) if is_ollama else options
    about = entry.section("model_info")
    fields = {
        "base_model": _base_model(about.take("base_model") or params.take("base_model")),
        "options": options,
        "omit": params.take("additional_drop_params"),
        "context_window": whole_number(about, "max_input_tokens", about.take("max_input_tokens")),
        "price": _price(params, about),
        "rate_limits": _rate_limits(params),
        "weight": _amount(params, "weight", params.take("weight")),
        "cache": _cache(params),
    }
    about.note_rest(hints=HINTS | {name: _KNOWN for name in about.left() if name.startswith("supports_")})
    _note_needless(params)
    return without_empty(fields)


def _base_model(named: Any) -> str | None:
    """The model that a deployment runs, without LiteLLM's prefix."""
    prefix, slash, model = str(named or "").partition("/")
    return model if slash and (prefix in PROFILES or prefix in builtin_names()) else str(named or "") or None


def _cache(params: ForeignSection) -> str | None:
    if not params.take("cache_control_injection_points"):
        return None
    params.note("cache_control_injection_points", "is imported as `cache: auto`: the gateway places the hints")
    return "auto"


_KNOWN = "is not needed: facts say what a model takes; `facts` of the model correct them"
_NEEDLESS = {
    "drop_params": "is not needed: settings that a target refuses are removed and reported",
    "modify_params": "is not needed: what a target refuses in messages is repaired and reported",
}


def _note_needless(section: ForeignSection) -> None:
    """Name the settings whose work is always done here."""
    for name, why in _NEEDLESS.items():
        if section.take(name) is not None:
            section.note(name, why)


def _price(params: ForeignSection, about: ForeignSection) -> dict[str, float] | None:
    """Prices for a million tokens; LiteLLM counts them for one."""
    given = {ours: (params.take(theirs), about.take(theirs)) for ours, theirs in PRICES.items()}
    price = {
        ours: round(amount * 1e6, 6)
        for ours, pair in given.items()
        if (amount := _first_amount(params, ours, pair)) is not None
    }
    if price and not {"input", "output"} <= price.keys():
        params.note("input_cost_per_token", "a price needs both input and output; not imported")
        return None
    return price or None


def _first_amount(section: ForeignSection, name: str, values: Iterable[Any]) -> float | None:
    return next((amount for value in values if (amount := _amount(section, name, value)) is not None), None)


def _amount(section: ForeignSection, name: str, value: Any) -> float | None:
    """A number, also one that YAML reads as a text (`1e-6`); for anything else a note."""
    try:
        amount = float(value) if not isinstance(value, bool) and value is not None else None
    except (TypeError, ValueError):
        amount = None
    if amount is not None and 0 <= amount < float("inf"):
        return amount
    if value is not None:
        section.note(name, f"{value} is not an amount; not imported")
    return None


def _rate_limits(params: ForeignSection) -> dict[str, Any]:
    requests = whole_number(params, "rpm", params.take("rpm"))
    tokens = whole_number(params, "tpm", params.take("tpm"))
    if tokens is not None:
        params.note("tpm", "is imported as the limit of input tokens; output tokens have a limit of their own here")
    return without_empty({"requests_per_minute": requests, "input_tokens_per_minute": tokens})


def _headers(headers: Any) -> dict[str, str] | None:
    return {str(k): str(_value(v)) for k, v in headers.items()} if isinstance(headers, Mapping) else None


def _value(value: Any) -> str | None:
    """`os.environ/X` becomes `${X}`. A literal `${` is escaped."""
    if not isinstance(value, str):
        return None
    if value.startswith("os.environ/"):
        return variable_reference(value.removeprefix("os.environ/"))
    return value.replace("${", "$${")


def _fallbacks(section: ForeignSection, models: _Models) -> None:
    for key, reason in FALLBACKS.items():
        for pair in section.take(key) or []:
            if not isinstance(pair, Mapping):
                section.note(key, f"{pair} is not a mapping of a model to its fallbacks; not imported")
                continue
            for public, others in pair.items():
                _add_fallbacks(section, models, key, str(public), _names(others), reason=reason)


def _default_fallbacks(section: ForeignSection, models: _Models) -> None:
    """Those of the models that have none of their own."""
    others = _names(section.take("default_fallbacks"))
    for public, model in list(models.models.items()) if others else ():
        if "fallbacks" not in model:
            _add_fallbacks(section, models, "default_fallbacks", public, [o for o in others if o != public])


def _names(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)] if value else []


def _add_fallbacks(
    section: ForeignSection, models: _Models, key: str, public: str, others: list[str], *, reason: str | None = None
) -> None:
    if not models.knows(public):
        section.note(key, f'"{public}" is not in model_list; not imported')
        return
    unknown = [other for other in others if not models.knows(other) and "/" not in other]
    if unknown:
        section.note(key, f"{', '.join(unknown)}: not in model_list; not imported")
    good = [member for other in others if other not in unknown for member in models.members(other)]
    for member in models.members(public):
        entry = models.models[member]
        place = entry if reason is None else entry.setdefault("fallbacks_on", {})
        name = reason or "fallbacks"
        place[name] = list(dict.fromkeys([*place.get(name, []), *(one for one in good if one != member)]))


def _strategy(section: ForeignSection, models: _Models) -> None:
    """How requests are shared out among the deployments of one name."""
    given = section.take("routing_strategy")
    if given is None:
        return
    if given not in STRATEGIES:
        section.note("routing_strategy", f"{given} has no counterpart; requests are shared out by weight")
    elif given.startswith("usage"):
        section.note("routing_strategy", f"{given} is imported as least_busy: by requests under way")
    for route in models.routes.values():
        route["strategy"] = STRATEGIES.get(given, "weighted")


def _budget(section: ForeignSection, config: dict[str, Any]) -> None:
    """A budget of the whole proxy is one of its key; nobody else has a key in the file."""
    amount, duration = _amount(section, "max_budget", section.take("max_budget")), section.take("budget_duration")
    if amount is None:
        return
    period = PERIODS.get(str(duration), "") if duration is not None else "total"
    if not period:
        section.note("budget_duration", f"{duration} is neither a day nor a month; the budget is not imported")
    elif "keys" not in config:
        section.note("max_budget", "budgets belong to keys, and the file has none; create one and set its budget")
    else:
        # LiteLLM counts a model without a price as free.
        config["keys"]["master"] |= {"budget": {period: amount}, "unpriced": "allow"}
        section.note("max_budget", "is the budget of the master key; models without a price are free, as they were")


def _retries(section: ForeignSection, models: _Models) -> None:
    attempts = whole_number(section, "num_retries", section.take("num_retries"), plus=1)
    timeout = section.take("timeout", "request_timeout")
    # LiteLLM allows this many failures and pauses at the next one.
    failures = whole_number(section, "allowed_fails", section.take("allowed_fails"), plus=1)
    cooldown = without_empty({"failures": failures, "seconds": section.take("cooldown_time")})
    for provider in models.providers.values():
        if attempts is not None:
            provider.setdefault("retries", {"attempts": attempts})
        if timeout is not None:
            provider["timeouts"] = {"total": timeout} | provider.get("timeouts", {})
        if cooldown:
            provider["cooldown"] = provider.get("cooldown", {}) | cooldown


def _settings(section: ForeignSection, models: _Models) -> None:
    _note_needless(section)
    aliases = {**(section.take("model_alias_map") or {}), **(section.take("model_group_alias") or {})}
    for alias, target in aliases.items():
        name = target.get("model") if isinstance(target, Mapping) else target
        hidden = {"hidden": True} if isinstance(target, Mapping) and target.get("hidden") else {}
        if name in models.routes:
            models.routes[alias] = dict(models.routes[name])
        elif name in models.models:
            models.models[alias] = {**models.models[name], **hidden}
        else:
            section.note("model_group_alias", f'"{alias}" names "{name}", which is not a model; not imported')


def _general(section: ForeignSection, config: dict[str, Any], process: Mapping[str, str]) -> None:
    digest = hash_client_key(section, "master_key", section.take("master_key"), process)
    if digest:
        config["keys"] = {"master": {"sha256": digest, "admin": True}}
    size = _amount(section, "max_request_size_mb", section.take("max_request_size_mb"))
    server = without_empty(
        {
            "max_concurrent": section.take("global_max_parallel_requests"),
            "max_body": int(size * 1024 * 1024) if size else None,
        }
    )
    if server:
        config["server"] = server
    if default := section.take("completion_model"):
        config["default_model"] = default
    interval = section.take("health_check_interval", default=300)
    if section.take("background_health_checks"):
        config["health_checks"] = {"interval": interval}
    section.note_rest(hints=HINTS)
