"""`log`: what the gateway logs."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class LogSplit(StrEnum):
    DAY = "day"
    DIALECT = "dialect"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    JSON = "json"
    TEXT = "text"


class ProviderErrors(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with one JSON line per refusal of a provider, for `dragoman replay`."""

    path: Annotated[str | None, Meta(description="The file; `null` for none.")] = "logs/provider_errors.jsonl"
    content: Annotated[
        bool,
        Meta(
            description="Keep texts. Otherwise each is replaced by `x` of the same length, which is enough to replay."
        ),
    ] = False
    max_bytes: Annotated[int, Meta(ge=1024, description="The size at which the file is rotated.")] = 10_485_760
    backups: Annotated[int, Meta(ge=0, le=100, description="The number of rotated files to keep.")] = 5


class ExchangeLog(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files with one JSON line per request: what the client asked and what was really sent."""

    folder: Annotated[str | None, Meta(description="The folder; `null` for none.", examples=["logs/exchanges"])] = None
    split: Annotated[
        LogSplit,
        Meta(description="`day`: one file a day; `dialect`: one file for each dialect that clients speak."),
    ] = LogSplit.DAY
    content: Annotated[bool, Meta(description="Keep texts. Otherwise each is replaced by `x` of the same length.")] = (
        True
    )
    answers: Annotated[bool, Meta(description="Keep answers too, of a streamed one the first mebibyte.")] = False


class Log(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gateway logs."""

    level: Annotated[
        LogLevel,
        Meta(description="The lowest level that is logged. `debug` adds the whole report of each request."),
    ] = LogLevel.INFO
    format: Annotated[LogFormat, Meta(description="One JSON object per line, or text for people.")] = LogFormat.JSON
    content: Annotated[
        bool,
        Meta(
            description="Log conversations: with each request what was asked, what was sent and the answer, without "
            "secrets, each cut at 64 KiB."
        ),
    ] = False
    provider_errors: Annotated[ProviderErrors, Meta(description="The file of refusals.")] = ProviderErrors()
    exchanges: Annotated[ExchangeLog, Meta(description="Files of requests, as asked and as sent.")] = ExchangeLog()
