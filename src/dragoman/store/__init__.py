"""State that outlives a request: reasoning state, limits, pins, lessons, calibrations, ledger, summaries, refusals."""

from dragoman.store.calibrations import Calibrations
from dragoman.store.clock import Clocks
from dragoman.store.errors import StoreError, StoreUnavailable
from dragoman.store.exchange_log import ExchangeFiles, ExchangeLine
from dragoman.store.health import StoreHealth
from dragoman.store.ledger import Ledger, LedgerPage, LedgerQuery
from dragoman.store.ledger_entry import By, Entry, Totals, Viewer
from dragoman.store.lesson_records import LessonRecords
from dragoman.store.location import store_file
from dragoman.store.memory.lessons import LessonMemory
from dragoman.store.memory.store import MemoryStore
from dragoman.store.open_store import OpenedStore, file_refusal, memory_refusal, open_store, shared_refusal
from dragoman.store.pins import SESSION, Pin, PinOwner, Pins, pin_place
from dragoman.store.rate_limits import Allowed, KeyLimits, Limited, RateLimits
from dragoman.store.reasoning_vault import Parts, ReasoningVault, StateOwner
from dragoman.store.redaction import Redactor, secrets_of
from dragoman.store.refusal_log import RefusalLine, RefusalLog, parse_refusal, parse_refusals, timestamp
from dragoman.store.sqlite.store import SqliteStore
from dragoman.store.store import Store
from dragoman.store.stored_responses import StoredResponse, StoredResponses
from dragoman.store.summaries import Summaries, Summary, SummaryKind

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
    "LessonMemory",
    "LessonRecords",
    "Limited",
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
    "pin_place",
    "secrets_of",
    "shared_refusal",
    "store_file",
    "timestamp",
]
