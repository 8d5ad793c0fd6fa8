"""State that outlives a request: reasoning state, limits, pins, lessons, calibrations, ledger, summaries, refusals."""

from dragoman.store.clock import Clocks
from dragoman.store.contracts.calibrations import Calibrations
from dragoman.store.contracts.health import StoreHealth
from dragoman.store.contracts.ledger import Ledger, LedgerPage, LedgerQuery
from dragoman.store.contracts.lesson_records import LessonRecords
from dragoman.store.contracts.pins import SESSION, Pin, PinOwner, Pins
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited, RateLimits
from dragoman.store.contracts.reasoning_vault import Parts, ReasoningVault, StateOwner
from dragoman.store.contracts.stored_responses import StoredResponse, StoredResponses
from dragoman.store.contracts.summaries import Summaries, Summary, SummaryKind
from dragoman.store.errors import StoreError, StoreUnavailable
from dragoman.store.journals.exchange_log import ExchangeFiles, ExchangeLine
from dragoman.store.journals.redaction import Redactor, secrets_of
from dragoman.store.journals.refusal_log import RefusalLine, RefusalLog, parse_refusal, parse_refusals, timestamp
from dragoman.store.ledger_entry import By, Entry, Totals, Viewer
from dragoman.store.location import store_file
from dragoman.store.memory.lessons import MemoryLessons
from dragoman.store.memory.store import MemoryStore
from dragoman.store.open_store import OpenedStore, file_refusal, memory_refusal, open_store, shared_refusal
from dragoman.store.sqlite.store import SqliteStore
from dragoman.store.store import Store

__all__ = [
    "SESSION",
    "Allowed",
    "By",
    "Calibrations",
    "Clocks",
    "Entry",
    "ExchangeFiles",
    "ExchangeLine",
    "KeyLimits",
    "Ledger",
    "LedgerPage",
    "LedgerQuery",
    "LessonRecords",
    "Limited",
    "MemoryLessons",
    "MemoryStore",
    "OpenedStore",
    "Parts",
    "Pin",
    "PinOwner",
    "Pins",
    "RateLimits",
    "ReasoningVault",
    "Redactor",
    "RefusalLine",
    "RefusalLog",
    "SqliteStore",
    "StateOwner",
    "Store",
    "StoreError",
    "StoreHealth",
    "StoreUnavailable",
    "StoredResponse",
    "StoredResponses",
    "Summaries",
    "Summary",
    "SummaryKind",
    "Totals",
    "Viewer",
    "file_refusal",
    "memory_refusal",
    "open_store",
    "parse_refusal",
    "parse_refusals",
    "secrets_of",
    "shared_refusal",
    "store_file",
    "timestamp",
]
