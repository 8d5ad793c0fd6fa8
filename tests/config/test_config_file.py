"""Reading the file: what is accepted, what is refused, and in which words (D10, X17)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman.config.errors import InvalidConfig
from dragoman.config.known_names import KnownNames, ProfileVariables
from dragoman.config.load import Loaded, load, parse
from dragoman.config.schema.providers import Growth, Jitter
from dragoman.config.schema.repairs import MaxLoss
from dragoman.config.schema.store import StoreKind
from dragoman.config.variables import Environment
from dragoman.gateway.config_names import collect_names

KEYS = {"anthropic": ("ANTHROPIC_API_KEY",), "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}
KNOWN = KnownNames(
    profiles=frozenset(
        {"anthropic", "openrouter", "gemini", "groq", "openai", "openai-compatible-strict", "strict-template"}
    ),
    rules={
        "late-system": ("keep", "user", "opening", "fail"),
        "many-systems": ("auto", "separate", "join"),
        "free": (),
    },
    texts=frozenset({"leading_user", "trailing_user", "empty_content"}),
    facts={"unknown_fields": ("accepts", "refuses", "unknown"), "system_count": ()},
    variables_of=lambda name: ProfileVariables(
        key=KEYS.get(name, ()), url="" if name == "openai-compatible-strict" else "https://vendor.example"
    ),
)
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def read(text: str, variables: dict[str, str] | None = None, known: KnownNames = KNOWN) -> Loaded:
    return parse(text, known=known, variables=Environment(variables or {}))


def refusal(text: str, variables: dict[str, str] | None = None, known: KnownNames = KNOWN) -> str:
    with pytest.raises(InvalidConfig) as caught:
        read(text, variables, known)
    return str(caught.value)


ISSUE = f"""\
providers:
  claude: {{profile: anthropic, base_url: "https://api.anthropic.com", api_key: "${{ANTHROPIC_API_KEY}}"}}
  router: {{profile: openrouter, api_key: "${{OPENROUTER_API_KEY}}", headers: {{X-Title: demo}}}}
models:
  smart: {{target: claude/claude-opus-4-8, fallbacks: [router/google/gemini-2.5-pro]}}
  cheap: {{target: router/google/gemini-2.5-flash, options: {{temperature: 0.2}}, rules: {{late-system: opening}}}}
keys:
  ci: {{sha256: "{HASH}", allowed_models: [cheap], requests_per_minute: 600}}
"""


def test_the_documented_shape_is_read() -> None:
    loaded = read(ISSUE, {"ANTHROPIC_API_KEY": "sk-ant-aaaaaaaaaaaa", "OPENROUTER_API_KEY": "sk-or-bbbbbbbbbbbb"})
    config = loaded.config
    assert loaded.warnings == ()
    assert config.providers["claude"].api_key is not None
    assert config.providers["claude"].api_key.reveal() == "sk-ant-aaaaaaaaaaaa"
    assert config.providers["router"].headers == {"X-Title": "demo"}
    assert config.models["smart"].fallbacks == ("router/google/gemini-2.5-pro",)
    assert config.models["cheap"].options == {"temperature": 0.2}
    assert config.models["cheap"].rules == {"late-system": "opening"}
    assert config.keys["ci"].requests_per_minute == 600


REFUSED = {
    "near profile": (
        "providers:\n  fast:\n    profile: gemni\n",
        'dragoman.yaml:3: providers.fast.profile is "gemni". Did you mean "gemini"? Known: anthropic, gemini, groq,',
    ),
    "no profile of that name": ("providers:\n  fast: {}\n", "dragoman.yaml:2: providers.fast.profile is missing"),
    "unknown key": ("models:\n  a:\n    target: groq/x\n    fallback: []\n", "dragoman.yaml:4: models.a.fallback is"),
    "unknown key is near": ("sever: {}", 'Did you mean "server"?'),
    "a file of another gateway": ("model_list: []", "LiteLLM is translated by `dragoman import litellm`"),
    "unknown rule": ("rules: {late-sytem: user}", 'rules.late-sytem is not a rule'),
    "unknown option": ("rules: {late-system: usr}", 'Did you mean "user"?'),
    "unknown option of a mapping": ("rules: {many-systems: {glue: x}}", 'rules.many-systems is "glue". Known: auto'),
    "two options at once": ("rules: {many-systems: {join: x, auto: y}}", "must name one option"),
    "unknown text": ("texts: {leading_usr: x}", 'Did you mean "leading_user"?'),
    "unknown fact": ("providers: {groq: {facts: {unknown_feilds: refuses}}}", 'Did you mean "unknown_fields"?'),
    "unknown value of a fact": ("providers: {groq: {facts: {unknown_fields: refuse}}}", 'Did you mean "refuses"?'),
    "target without a provider": ("models: {a: {target: gpt-4}}", 'a target is written PROVIDER/MODEL'),
    "target of an unknown provider": ("models: {a: {target: grok/x}}", 'models.a.target begins with "grok"'),
    "fallback to nowhere": ("models: {a: {target: groq/x, fallbacks: [b]}}", 'models.a.fallbacks[0] is "b"'),
    "fallback for a reason to nowhere": (
        "models: {a: {target: groq/x, fallbacks_on: {rate_limit: [b]}}}",
        'models.a.fallbacks_on.rate_limit[0] is "b"',
    ),
    "region that is a path": (
        "providers: {bedrock: {cloud: {region: eu/west-1}}}",
        'providers.bedrock.cloud.region is "eu/west-1"',
    ),
    "missing target": ("models:\n  a: {}\n", "dragoman.yaml:2: models.a.target is missing"),
    "duplicate key": (
        "server: {port: 1}\nlog: {}\nserver: {port: 2}\n",
        '3: "server" is there twice (first on line 1)',
    ),
    "duplicate model": ("models:\n  a: {target: groq/x}\n  a: {target: groq/y}\n", '"a" is there twice'),
    "text for a number": ("server:\n  port: abc\n", '2: server.port is "abc"; it must be a whole number'),
    "number out of range": ("server: {port: 70000}", "server.port is 70000; it must be a whole number from 0 to 65535"),
    "fraction for a whole number": ("server: {workers: 1.5}", "whole number"),
    "yes for a number": ("server: {workers: true}", "server.workers is true"),
    "infinite": ("media: {timeout: .inf}", "media.timeout"),
    "not a number": ("media: {timeout: .nan}", "media.timeout"),
    "number for a text": ("server: {host: 1}", "Put it in quotes"),
    "text for a flag": ("log: {content: 'yes'}", "it must be true or false"),
    "list for a mapping": ("providers: []", "providers is a list; it must be a mapping"),
    "text for a section": ("server: on", "server is true; it must be a mapping"),
    "mapping for a list": ("models: {a: {target: groq/x, fallbacks: {b: c}}}", "it must be a list"),
    "a bare word": ("hello", 'the file is "hello"; it must be a mapping'),
    "a list": ("- a", "the file is a list"),
    "no YAML": ("a: [1, 2\nb: 3", "is not YAML"),
    "a tab": ("a:\n\t- b", "YAML is indented with spaces, not with tabs"),
    "control characters": ("a: \x00", "is not YAML"),
    "an object": ("a: !!python/object/apply:os.system ['true']", "tag that creates objects"),
    "a set": ("server: !!set {a}", "tag that creates objects"),
    "two documents": ("a: 1\n---\nb: 2\n", "is not YAML"),
    "wrong enum": ("max_loss: nothin", 'max_loss is "nothin". Did you mean "nothing"? Known: authority, content'),
    "a server that is no hot store": ("store: {hot: 'mysql://h'}", "1: store.hot must begin with redis://"),
    "a server that is no ledger": ("store: {ledger: 'redis://h'}", "1: store.ledger must begin with postgresql://"),
    "wrong store": ("store: {kind: redis}", "Known: memory, sqlite."),
    "both kinds of key": ("providers: {groq: {api_key: a, api_keys: [b]}}", "has both api_key and api_keys"),
    "no URL": ("providers: {groq: {base_url: 'localhost:80'}}", "is not a valid URL"),
    "bad port in URL": ("providers: {groq: {base_url: 'http://h:99999'}}", "is not a valid URL"),
    "password in URL": ("providers: {groq: {base_url: 'https://u:p@h'}}", "use headers instead"),
    "query in URL": ("providers: {groq: {base_url: 'https://h/v1?key=x'}}", "has a query or fragment"),
    "line break in a header": ('providers: {groq: {headers: {X-A: "a\\r\\nX-B: b"}}}', "line break"),
    "bad header name": ("providers: {groq: {headers: {'X A': b}}}", "not a valid header name"),
    "a header of the transport": ("providers: {groq: {headers: {Content-Length: '5'}}}", "set by the gateway itself"),
    "line break in a key": ('providers: {groq: {api_key: "a\\nb"}}', "a header cannot carry"),
    "an option that the client decides": ("models: {m: {target: groq/x, options: {stream: true}}}", "is no option"),
    "a model as an option": ("models: {m: {target: groq/x, options: {model: y}}}", "the target names the model"),
    "messages by a part of the name": ("overrides: [{match: x, options: {messages: []}}]", "overrides[0].options"),
    "slash in a provider": ("providers: {a/b: {profile: groq}}", 'has a "/" in its name'),
    "same hash twice": (f"keys: {{a: {{sha256: '{HASH}'}}, b: {{sha256: '{HASH.upper()}'}}}}", 'same as that of "a"'),
    "short hash": ("keys: {a: {sha256: 'abc'}}", "is not 64 hex digits"),
    "no date": (f"keys: {{a: {{sha256: '{HASH}', expires: soon}}}}", "must be a date (2030-01-01)"),
    "impossible date": (f"keys: {{a: {{sha256: '{HASH}', expires: 2026-13-45}}}}", "must be a date"),
    "zero limit": (f"keys: {{a: {{sha256: '{HASH}', requests_per_minute: 0}}}}", "of 1 or more"),
    "unknown default model": ("models: {cheap: {target: groq/x}}\ndefault_model: chep", 'Did you mean "cheap"?'),
    "a huge number": (f"history: {{trim: {{max_history_tokens: {10**30}}}}}", "a whole number from 0 to 1000000000"),
    "a share above one": (
        "history:\n  trim: {step: 2}",
        "2: history.trim.step is 2; it must be a number above 0 and below 1",
    ),
    "a share of nothing": ("history: {trim: {context_budget: 0}}", "it must be a number above 0 and up to 1"),
    "unknown key of a history": ("history: {trim: {max_histroy_tokens: 5}}", 'Did you mean "max_history_tokens"?'),
    "summaries by nobody": (
        "models: {small: {target: groq/x}}\nhistory:\n  compact: {model: smal}",
        '3: history.compact.model is "smal", which is not a model of this file. Did you mean "small"? Known: small.',
    ),
    "summaries of one model by nobody": (
        "models: {a: {target: groq/x, history: {compact: {model: grok/x}}}}",
        'models.a.history.compact.model begins with "grok"',
    ),
    "bad network": ("media: {allow: ['10.0.0.0/99 x']}", "media.allow[0]"),
    "a key that is a list": ("? [a, b]\n: c\n", "a key must be a plain word"),
    "merge of a text": ("server:\n  <<: abc\n", "<< takes a mapping"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_mistakes_are_named(text: str, says: str) -> None:
    assert says in refusal(text)


def test_all_mistakes_of_a_file_are_told_at_once_in_its_order() -> None:
    said = refusal("server:\n  prt: 1\n  workers: x\nlog:\n  level: loud\n").splitlines()
    assert [line.split(":")[1] for line in said] == ["2", "3", "5"]


def test_E15_a_plain_key_is_refused_with_its_hash_and_without_the_key() -> None:
    said = refusal("keys: {ci: {key: test}}")
    assert f'sha256: "{HASH}"' in said
    assert '"test"' not in said


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(8)
)
HOSTILE = {
    "alias bomb": BOMB,
    "recursive alias": "server: &a {x: *a}",
    "deep flow": "a: " + "[" * 5000,
    "deep block": "\n".join(f"{' ' * i}a:" for i in range(300)),
    "too large": "# " + "x" * 2_100_000,
    "undefined alias": "server: *nothing",
    "merge bomb": "a: &a {k: v}\n" + "\n".join(f"x{i}: &x{i} {{<<: [*a, *a]}}" for i in range(3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_files_are_refused_and_end_soon(text: str) -> None:
    assert "dragoman.yaml" in refusal(text)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "{}", "null", "providers:\nmodels:\nserver:\n"])
def test_an_empty_file_is_the_defaults(text: str) -> None:
    config = read(text).config
    assert config.providers == {}
    assert config.server.port == 8642


def test_anchors_and_merges_work_within_reason() -> None:
    text = "providers:\n  groq: &g {timeouts: {connect: 3}, api_key: a}\n  openai: {<<: *g, api_key: b}\n"
    providers = read(text).config.providers
    assert providers["openai"].timeouts.connect == 3.0
    assert providers["openai"].api_key is not None
    assert providers["openai"].api_key.reveal() == "b"


def test_retries_are_three_with_doubling_full_jitter() -> None:
    retries = read("providers: {groq: {}}").config.providers["groq"].retries
    assert (retries.attempts, retries.base, retries.factor, retries.cap) == (3, 1.0, 2.0, 30.0)
    assert retries.jitter is Jitter.FULL


def test_A22_E14_other_retry_habits_can_be_configured() -> None:
    text = """
    providers:
      groq:
        retries: {attempts: 4, base: 1, growth: linear, cap: 30, jitter: none}
        timeouts: {total: 180}
        cooldown: {failures: 3, seconds: 60}
    """
    provider = read(text).config.providers["groq"]
    assert (provider.retries.attempts, provider.timeouts.total, provider.cooldown.seconds) == (4, 180.0, 60.0)
    assert provider.retries.growth is Growth.LINEAR


def test_A12_a_transcript_policy_is_a_profile_with_facts_and_rules() -> None:
    text = """
    providers:
      lmstudio:
        profile: strict-template
        base_url: http://localhost:1234/v1
        facts: {system_count: 1}
        rules: {late-system: user, many-systems: {join: "\\n\\n"}}
    """
    provider = read(text).config.providers["lmstudio"]
    assert provider.facts == {"system_count": 1}
    assert provider.rules == {"late-system": "user", "many-systems": {"join": "\n\n"}}


def test_A19_a_setting_is_forced_omitted_or_left() -> None:
    text = "models: {a: {target: groq/x, options: {temperature: 1, provider: {order: [b]}}, omit: [top_p]}}"
    model = read(text).config.models["a"]
    assert model.options == {"temperature": 1, "provider": {"order": ["b"]}}
    assert model.omit == ("top_p",)


def test_A23_roles_are_model_names_with_fallbacks_between_them() -> None:
    text = """
    models:
      fast: {target: groq/small, fallbacks: [smart]}
      smart: {target: anthropic/large}
    default_model: smart
    """
    config = read(text).config
    assert config.models["fast"].fallbacks == ("smart",)
    assert config.default_model == "smart"


def test_A24_attribution_becomes_headers_and_headers_win() -> None:
    text = """
    providers:
      openrouter:
        attribution: {title: demo, url: "https://example.org", user_agent: demo/1.0}
        organization: org-1
        headers: {x-title: mine}
    """
    assert read(text).config.providers["openrouter"].fixed_headers() == {
        "OpenAI-Organization": "org-1",
        "HTTP-Referer": "https://example.org",
        "User-Agent": "demo/1.0",
        "x-title": "mine",
    }


def test_E8_strictness_is_a_fact() -> None:
    text = "providers: {groq: {facts: {unknown_fields: refuses}}}"
    assert read(text).config.providers["groq"].facts == {"unknown_fields": "refuses"}


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2030-01-01", datetime(2030, 1, 1, tzinfo=UTC)),
        ("2030-01-01T12:00:00Z", datetime(2030, 1, 1, 12, tzinfo=UTC)),
        ('"2030-01-01 12:00"', datetime(2030, 1, 1, 12, tzinfo=UTC)),
    ],
)
def test_expiry_is_a_date_or_a_time(written: str, moment: datetime) -> None:
    assert read(f"keys: {{a: {{sha256: '{HASH}', expires: {written}}}}}").config.keys["a"].expires == moment


def test_the_words_of_made_up_turns_are_configured_by_reason() -> None:
    config = read('texts: {leading_user: "(go on)", empty_content: "."}').config
    assert config.texts == {"leading_user": "(go on)", "empty_content": "."}


def test_an_option_called_on_needs_no_quotes() -> None:
    assert read("rules: {free: on, late-system: keep}").config.rules == {"free": "on", "late-system": "keep"}


def test_unknown_models_of_a_key_are_a_warning() -> None:
    allowed = "[a, b, 'c*', groq/y, grq/z]"
    text = f"models: {{a: {{target: groq/x}}}}\nkeys:\n  k: {{sha256: '{HASH}', allowed_models: {allowed}}}\n"
    assert read(text).warnings == (
        'dragoman.yaml:3: keys.k.allowed_models[1] is "b", which is not a model of this file. Known: a.',
        'dragoman.yaml:3: keys.k.allowed_models[4] is "grq/z", which is not a model of this file. Known: a.',
    )


def test_a_fallback_to_the_target_that_has_failed_is_a_warning() -> None:
    a = "{target: groq/x, fallbacks: [a, b, groq/x], fallbacks_on: {rate_limit: [c, groq/y]}}"
    text = f"models:\n  a: {a}\n  b: {{target: groq/y, fallbacks: [a]}}\n  c: {{target: groq/x}}\n"
    why = "the target that has failed; it is never tried"
    assert read(text).warnings == (
        f'dragoman.yaml:2: models.a.fallbacks[0] is "a", {why}',
        f'dragoman.yaml:2: models.a.fallbacks[2] is "groq/x", {why}',
        f'dragoman.yaml:2: models.a.fallbacks_on.rate_limit[0] is "c", {why}',
    )


def test_a_provider_that_has_no_address_is_a_warning() -> None:
    text = "providers:\n  mine:\n    profile: openai-compatible-strict\n    base_url: ${MINE}\n"
    says = "dragoman.yaml:4: providers.mine.base_url is missing: set it"
    assert read(text).warnings == ("dragoman.yaml:4: providers.mine.base_url uses ${MINE}, which is not set", says)
    assert read(text, {"MINE": "http://h/v1"}).warnings == ()


def test_a_public_address_without_keys_is_a_warning() -> None:
    (warning,) = read("server: {host: 0.0.0.0}").warnings
    assert warning.startswith("dragoman.yaml:1: server.host: 0.0.0.0 can be reached from other machines")
    assert not read(f"server: {{host: 0.0.0.0}}\nkeys: {{k: {{sha256: '{HASH}'}}}}").warnings


def test_enums_and_sections_are_typed() -> None:
    config = read(
        "max_loss: order\nstore: {kind: sqlite, path: x.sqlite3}\nlog: {provider_errors: {path: null}}\n"
    ).config
    assert config.max_loss is MaxLoss.ORDER
    assert config.store.kind is StoreKind.SQLITE
    assert config.log.provider_errors.path is None


def test_without_known_names_nothing_is_checked_against_them() -> None:
    read("providers: {x: {profile: anything}}\nrules: {odd: even}\n", known=KnownNames())


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_an_unreadable_file_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "dragoman.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidConfig, match=r"dragoman\.yaml: cannot be read"):
        load(path, process={})


def test_a_target_whose_provider_serves_the_model_elsewhere_says_where() -> None:
    text = "providers: {google: {profile: vertex}}\nmodels: {a: {target: google/claude-opus-5}}\n"
    assert "write vertex-anthropic/claude-opus-5" in refusal(text, known=collect_names())
    read(text.replace("claude-opus-5", "gemini-2.5-pro"), known=collect_names())
