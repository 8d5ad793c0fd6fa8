"""What a gateway has found out about a target, as a profile: the facts of its store, with the refusals behind them."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from dragoman.cli.inputs.given_config import GivenConfig
from dragoman.cli.inputs.state_access import GatewayState, RunningGateway, list_lessons
from dragoman.engine.exchange.lesson_book import LessonRecord, merge_believed
from dragoman.errors import TargetError, near_match
from dragoman.gateway.models.server_probes import REFUSALS
from dragoman.profiles.fact_names import entry_names
from dragoman.profiles.profile import Evidence, Profile, Profiles

_MEASURED = "MEAS"


def learnt_profiles(target: str, config: Path, profiles: Profiles, gateway: RunningGateway | None) -> Profiles:
    """The profiles, and one more for the provider of a configuration, which holds what was learnt about its target."""
    given = GivenConfig(config, profiles=profiles)
    providers = given.loaded().config.providers
    name, _, _ = target.partition("/")
    provider = providers.get(name)
    if provider is None:
        raise TargetError(f'{config} has no provider "{name}". {near_match(name, providers)}')
    records = list_lessons(GatewayState(given, gateway))
    return profiles.extended({name: _profile(name, provider.profile or name, target, records)})


def _profile(name: str, like: str, target: str, records: Iterable[LessonRecord]) -> Profile:
    known = tuple(records)
    facts = merge_believed([one for one in known if one.target == target], "", time.time())
    evidence = [entry for one in known if one.target == target + REFUSALS for entry in _evidence(one)]
    return Profile(name=name, like=like, facts=facts, evidence=tuple(evidence))


def _evidence(record: LessonRecord) -> Iterator[Evidence]:
    asked, _, says = record.name.partition(": ")
    seen = datetime.datetime.fromtimestamp(record.learnt, datetime.UTC).date()
    for fact in entry_names(record.facts):
        yield Evidence(fact=fact, seen=seen, kind=_MEASURED, says=says, source=asked)
