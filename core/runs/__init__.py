"""The life of a run: drive, stop, follow, recover."""

from core.runs.followers import EventStream, Hub
from core.runs.results import result_of
from core.runs.stored import stored_events
from core.runs.supervisor import LiveRun, Supervisor
from core.runs.transcript import transcript_of

__all__ = [
    "EventStream",
    "Hub",
    "LiveRun",
    "Supervisor",
    "result_of",
    "stored_events",
    "transcript_of",
]
