"""Every dialect as a client of every dialect, by the list of dialects alone: from its path to its strictest reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.by_dialect import write_request
from tests.gateway.running import Running, gateway, provider
from tests.strict_readers import read
from tests.targets import OWN, split

from dragoman.dialects.registry import dialect
from dragoman.gateway.console.code_samples import request_path
from dragoman.testing import emulator

ASKED = """@max_tokens 5000
system: Be brief.
user: What comes first?
assistant: One.
user: Count to 3"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with ExitStack() as stack:
        profiles = {name: split(target) for name, target in OWN.items()}
        urls = {name: stack.enter_context(emulator(profile)).base_url for name, (profile, _) in profiles.items()}
        config = {
            "providers": {name: provider(profile, urls[name]) for name, (profile, _) in profiles.items()},
            "models": {f"on-{name}": {"target": f"{name}/{model}"} for name, (_, model) in profiles.items()},
        }
        yield stack.enter_context(gateway(config, tmp_path_factory.mktemp("every")))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("client", OWN)
def test_every_client_gets_the_answer_of_every_model(running: Running, client: str, stream: bool) -> None:
    body = write_request(client, ASKED, stream)
    for target in OWN:
        model = f"on-{target}"
        named = {} if dialect(client).model_in_path else {"model": model, "stream": stream}
        answer = running.post(request_path(client, model, stream), {**body, **named})
        assert answer.status_code == 200, (target, answer.text)
        if client == target:
            continue  # relayed as the provider wrote it, whose emulator is no strict reader's business
        assert read(client, answer.content, stream, used=False).last == "1, 2, 3", (target, answer.text)
