"""C29, C30: models that do not answer are asked again sooner than the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from time import perf_counter

import pytest

from dragoman.config.load import Loaded
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.models import Model
from dragoman.config.schema.providers import Provider, Retries
from dragoman.config.schema.routes import HealthChecks
from dragoman.config.schema.store import StoreConfig, StoreKind
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.models.health_checks import HealthChecker, retry_pauses
from dragoman.gateway.services import Services
from dragoman.testing import emulator


@pytest.mark.parametrize(
    ("interval", "pauses"), [(300.0, [10.0, 20.0, 40.0, 60.0, 60.0]), (30.0, [10.0, 20.0, 30.0, 30.0, 30.0])]
)
def test_C30_the_pauses_double_up_to_a_minute_or_the_interval(interval: float, pauses: list[float]) -> None:
    assert list(islice(retry_pauses(interval), 5)) == pauses


def test_C30_a_model_that_answers_again_need_not_wait_for_the_next_round() -> None:
    with emulator("openai") as up, emulator("openai", fault="503") as down:
        config = Config(
            providers={name: provider(one.base_url) for name, one in (("up", up), ("down", down))},
            models={name: Model(target=f"{name}/gpt-4o") for name in ("up", "down")},
            health_checks=HealthChecks(interval=300),
            store=StoreConfig(kind=StoreKind.MEMORY),
        )

        async def scenario() -> None:
            services = Services(Loaded(config=config))
            current = services.live.config, services.live.routes
            checks = HealthChecker(services.dispatcher, lambda: current, services.records.log, first_retry=0.02)
            checks.start()
            await until(lambda: bool(checks.results))
            assert (checks.is_healthy("up"), checks.is_healthy("down")) == (True, False)
            down.fault(None)
            await until(lambda: checks.is_healthy("down"))
            await checks.stop()

        asyncio.run(scenario())
        assert len(up.requests) == 1, "those that answer are asked once in a round"


def test_a_passed_check_ends_a_cooldown() -> None:
    with emulator("openai") as up:
        config = Config(
            providers={"up": provider(up.base_url)},
            models={"m": Model(target="up/gpt-4o")},
            health_checks=HealthChecks(interval=300),
            store=StoreConfig(kind=StoreKind.MEMORY),
        )

        async def scenario() -> None:
            services = Services(Loaded(config=config))
            route = services.live.routes.find("m")
            assert route is not None
            health, failure = services.dispatcher.health, Failure(FailureKind.SERVER, "down", 503)
            for _ in range(route.first.failures):
                health.failed(route.first, failure, perf_counter())
            assert list(health.resting(perf_counter())) == ["up/gpt-4o"]
            checks = HealthChecker(
                services.dispatcher, lambda: (services.live.config, services.live.routes), services.records.log
            )
            await checks.check_all()
            assert checks.is_healthy("m")
            assert health.resting(perf_counter()) == {}

        asyncio.run(scenario())


def provider(url: str) -> Provider:
    return Provider(profile="openai", base_url=url, retries=Retries(attempts=1))


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - nothing tells when a check is over
            await asyncio.sleep(0.01)
