"""Keeps AI agents working when models, networks and processes fail.

Two functions run agents with retries, fallback and restarts::

    from steadfast import spawn_subagent_with_retry

    result = spawn_subagent_with_retry(
        task="write the report", model="claude-sonnet-4-5", label="report", agent="claude"
    )

They start the ``steadfast`` binary themselves, or leave the work to a running server where one is named
(``server="http://127.0.0.1:4141"`` or ``STEADFAST_URL``). :class:`Client` and :class:`AsyncClient` speak to such a server
about policies, sessions, analytics, tasks and live events.
"""

from .async_client import AsyncClient
from .client import Client
from .errors import ApiError, BinaryNotFound, SteadfastError, TaskFileError
from .spawn import (
    DEFAULT_FALLBACK_ORDER,
    spawn_parallel_workers_with_fallback,
    spawn_parallel_workers_with_fallback_async,
    spawn_subagent_with_retry,
    spawn_subagent_with_retry_async,
)
from .types import BatchResult, TaskResult, TaskSpec

__all__ = [
    "DEFAULT_FALLBACK_ORDER",
    "ApiError",
    "AsyncClient",
    "BatchResult",
    "BinaryNotFound",
    "Client",
    "SteadfastError",
    "TaskFileError",
    "TaskResult",
    "TaskSpec",
    "spawn_parallel_workers_with_fallback",
    "spawn_parallel_workers_with_fallback_async",
    "spawn_subagent_with_retry",
    "spawn_subagent_with_retry_async",
]
