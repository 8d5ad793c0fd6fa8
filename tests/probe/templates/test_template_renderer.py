"""Templates run in a process of their own: it has what servers offer, and a hostile template ends within its limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.errors import TemplateError
from dragoman.probe.template.renderer import Rendering, RenderLimits, TemplateEngine, TemplateRenderer

HI = {"messages": [{"role": "user", "content": "Hi"}]}
SMALL = RenderLimits(seconds=0.4, total=5, characters=10_000, memory=300 * 1024 * 1024)

PATIENCE = 120.0
"""Seconds that the process gets to begin and to answer, on a machine as busy as may be."""


def rendering(template: str, engine: TemplateEngine = TemplateEngine.JINJA2) -> Rendering:
    with TemplateRenderer(template, {"bos_token": "<s>"}, SMALL, engine, grace=PATIENCE) as renderer:
        return renderer.render(HI)


OFFERED = """{{ bos_token }}{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}
{%- if i > 2 %}{% break %}{% endif %}{{- i }}{% endfor %}{% generation %}|{{ messages | tojson }}{% endgeneration %}|
{{- strftime_now('%Y') }}|
{%- set ns = namespace(a=1) %}{% set ns.a = 2 %}{{ ns.a }}|{{ '{"a": "<é>"}' | from_json | tojson(indent=1) }}"""


def test_what_servers_offer() -> None:
    made = rendering(OFFERED)
    assert made.prompt == '<s>02|[{"role": "user", "content": "Hi"}]|2026|2|{\n "a": "<é>"\n}'


def test_the_templates_own_words() -> None:
    assert rendering("{{ raise_exception('System role not supported') }}").says == "System role not supported"
    assert rendering("{{ messages[0].content + none }}").says.startswith("TypeError: ")


def test_llama_cpp_lets_lists_be_changed() -> None:
    template = "{% set names = [] %}{% set _ = names.append(1) %}{{ names | map('string') | tojson }}"
    assert "append" in rendering(template).says
    assert rendering(template, TemplateEngine.LLAMA_CPP).prompt == '["1"]'


def test_what_is_no_template() -> None:
    with pytest.raises(TemplateError, match="no chat template that jinja2 can read"):
        rendering("{% for %}")


HOSTILE = {
    "an endless loop": (
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "longer than",
    ),
    "a huge text": ("{% set a = 'a' * 1000000000 %}{{ a }}", "memory"),
    "a long prompt": ("{% for a in range(9999) %}{{ 'aaaaaaaa' }}{% endfor %}", "too long"),
    "a huge range": ("{% for a in range(10000000) %}{% endfor %}", "range"),
    "endless calls": ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "calls itself"),
    "the interpreter": ("{{ messages.__class__.__mro__ }}{{ messages.__class__.__mro__[1] }}", "unsafe"),
    "builtins": ("{{ cycler.__init__.__globals__.os.system('true') }}", "unsafe"),
    "a format string": ("{{ '{0.__class__.__mro__[1]}'.format(messages) }}", "unsafe"),
    "a foreign file": ("{% include '/etc/passwd' %}", "no loader"),
}


@pytest.fixture(scope="module")
def hostile() -> Iterator[TemplateRenderer]:
    """One template that holds them all: a process costs more than a rendering."""
    branches = [f"{{% if which == '{name}' %}}{template}{{% endif %}}" for name, (template, _) in HOSTILE.items()]
    with TemplateRenderer("".join(branches), {}, SMALL, grace=PATIENCE) as renderer:
        yield renderer


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_templates_end_with_a_reason(name: str, hostile: TemplateRenderer) -> None:
    made = hostile.render({**HI, "which": name})
    assert not made.ok
    assert HOSTILE[name][1] in made.says
    assert hostile.render({**HI, "which": "none"}).prompt == ""


_DOUBLED = "{% for _ in range(60) %}{% set lists.a = [lists.a, lists.a] %}{% set lists.b = [lists.b, lists.b] %}"
ENDLESS = f"{{% set lists = namespace(a=[], b=[]) %}}{_DOUBLED}{{% endfor %}}{{{{ lists.a == lists.b }}}}"
"""One call into C that never returns, and hears no alarm. Two equal lists are compared whose members are shared sixty
times over, which takes no memory."""


def test_one_that_cannot_be_interrupted_is_ended() -> None:
    """The process is ended from outside."""
    with TemplateRenderer(ENDLESS, {}, RenderLimits(seconds=0.3, total=5), grace=0.05) as renderer:
        assert renderer.render(HI).limit is not None
        assert renderer.ended
        assert renderer.render(HI).limit is not None


def test_the_process_may_open_few_files_and_start_no_process() -> None:
    resource = pytest.importorskip("resource")
    with TemplateRenderer("{{ messages }}") as renderer:
        assert renderer._process is not None
        limits = [
            resource.prlimit(renderer._process.pid, one) for one in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
        ]
    assert limits == [(16, 16), (0, 0)]


@pytest.mark.parametrize(
    "template", ["{{ messages|pprint }}", "{{ 1 / 0 }}", "{{ lipsum(1) }}", "{{ strftime_now('%B') }}"]
)
def test_the_limits_change_nothing_for_an_honest_template(template: str) -> None:
    with TemplateRenderer(template) as renderer:
        done = renderer.render({"messages": [{"role": "user", "content": "Hi"}]})
    assert done.fault == "ZeroDivisionError: division by zero" if "/ 0" in template else done.ok
