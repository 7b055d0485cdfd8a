"""Agents with retries, fallback and restarts: the two functions of the session manager."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, cast

from . import binary as program
from .async_client import AsyncClient
from .binary import OnEvent
from .client import Client
from .types import BatchResult, TaskResult

#: Where to fall back to where nobody says.
DEFAULT_FALLBACK_ORDER: List[str] = ["gpt-5.2", "claude-sonnet-4-5", "gemini-3-pro", "claude-haiku-4-5"]

#: How many agents run at once where nobody says.
_DEFAULT_PARALLEL = 8


def _task(
    spec: Mapping[str, Any],
    fallback_order: Optional[Sequence[str]],
    agent: Optional[str],
    command: Optional[Sequence[str]],
    more: Mapping[str, Any],
) -> Dict[str, Any]:
    task: Dict[str, Any] = {**more, **spec}
    if "chain" not in task and "fallback_order" not in task:
        task["fallback_order"] = list(DEFAULT_FALLBACK_ORDER if fallback_order is None else fallback_order)
    if "agent" not in task and "command" not in task:
        if command is not None:
            task["command"] = list(command)
        else:
            task["agent"] = agent or os.environ.get("STEADFAST_AGENT", "claude")
    return {name: value for name, value in task.items() if value is not None}


def _server(server: Optional[str]) -> Optional[str]:
    return server or os.environ.get("STEADFAST_URL") or None


def _check_server_can(
    parallel: Optional[int],
    partial: bool,
    binary: Optional[str],
    config: Optional[str],
    on_event: Optional[OnEvent],
) -> None:
    """What is asked for and not done would be found out late: a server has its own workers and configuration."""
    asked = {
        "parallel": parallel is not None,
        "partial_substitution=False": not partial,
        "binary": binary is not None,
        "config": config is not None,
        "on_event": on_event is not None,
    }
    refused = [name for name, wanted in asked.items() if wanted]
    if refused:
        raise ValueError(
            f"a server does not take {', '.join(refused)}: leave it out, or run the tasks here "
            "(no `server`, and no STEADFAST_URL)"
        )


def spawn_subagent_with_retry(
    task: str,
    model: str,
    label: str,
    fallback_order: Optional[Sequence[str]] = None,
    max_retries: int = 3,
    retry_delay: float = 5,
    *,
    agent: Optional[str] = None,
    command: Optional[Sequence[str]] = None,
    timeout: Optional[float] = None,
    policy: Optional[str] = "session-manager",
    server: Optional[str] = None,
    binary: Optional[str] = None,
    config: Optional[str] = None,
    on_event: Optional[OnEvent] = None,
    **more: Any,
) -> TaskResult:
    """Runs one agent until it is done, or everything that was allowed has been tried.

    Rate limits are retried ``max_retries`` times, ``retry_delay`` seconds apart, on the same model; then, and at once for
    models that cannot be used, the next model of ``fallback_order`` takes over. ``agent`` is ``claude``, ``codex``,
    ``gemini``, ``opencode``, ``openclaw`` or one of the configuration; ``command`` is any command, with ``{model}`` and
    ``{task}`` filled in.
    """
    spec = {"task": task, "model": model, "label": label}
    more = {**more, "max_retries": max_retries, "retry_delay": retry_delay, "timeout": timeout, "policy": policy}
    whole = _task(spec, fallback_order, agent, command, more)
    result = _run([whole], None, True, server, binary, config, on_event)
    return result["workers"][0]


def spawn_parallel_workers_with_fallback(
    tasks: Sequence[Mapping[str, Any]],
    fallback_order: Optional[Sequence[str]] = None,
    partial_substitution: bool = True,
    *,
    parallel: Optional[int] = None,
    agent: Optional[str] = None,
    command: Optional[Sequence[str]] = None,
    policy: Optional[str] = "session-manager",
    server: Optional[str] = None,
    binary: Optional[str] = None,
    config: Optional[str] = None,
    on_event: Optional[OnEvent] = None,
    **more: Any,
) -> BatchResult:
    """Runs many agents at once, each as :func:`spawn_subagent_with_retry` does.

    ``parallel`` of them at once, 8 where it is not said. With ``partial_substitution`` only those that fail change their
    model; without it, those that have not begun yet begin where another had to fall back to. A server decides both itself:
    with ``server`` they raise :class:`ValueError`, as do ``on_event``, ``binary`` and ``config``.
    """
    whole = [_task(task, fallback_order, agent, command, {**more, "policy": policy}) for task in tasks]
    return _run(whole, parallel, partial_substitution, server, binary, config, on_event)


async def spawn_subagent_with_retry_async(
    task: str,
    model: str,
    label: str,
    fallback_order: Optional[Sequence[str]] = None,
    max_retries: int = 3,
    retry_delay: float = 5,
    *,
    agent: Optional[str] = None,
    command: Optional[Sequence[str]] = None,
    timeout: Optional[float] = None,
    policy: Optional[str] = "session-manager",
    server: Optional[str] = None,
    binary: Optional[str] = None,
    config: Optional[str] = None,
    on_event: Optional[OnEvent] = None,
    **more: Any,
) -> TaskResult:
    """:func:`spawn_subagent_with_retry` without holding up a loop."""
    spec = {"task": task, "model": model, "label": label}
    more = {**more, "max_retries": max_retries, "retry_delay": retry_delay, "timeout": timeout, "policy": policy}
    whole = _task(spec, fallback_order, agent, command, more)
    result = await _run_async([whole], None, True, server, binary, config, on_event)
    return result["workers"][0]


async def spawn_parallel_workers_with_fallback_async(
    tasks: Sequence[Mapping[str, Any]],
    fallback_order: Optional[Sequence[str]] = None,
    partial_substitution: bool = True,
    *,
    parallel: Optional[int] = None,
    agent: Optional[str] = None,
    command: Optional[Sequence[str]] = None,
    policy: Optional[str] = "session-manager",
    server: Optional[str] = None,
    binary: Optional[str] = None,
    config: Optional[str] = None,
    on_event: Optional[OnEvent] = None,
    **more: Any,
) -> BatchResult:
    """:func:`spawn_parallel_workers_with_fallback` without holding up a loop."""
    whole = [_task(task, fallback_order, agent, command, {**more, "policy": policy}) for task in tasks]
    return await _run_async(whole, parallel, partial_substitution, server, binary, config, on_event)


def _run(
    tasks: List[Dict[str, Any]],
    parallel: Optional[int],
    partial: bool,
    server: Optional[str],
    binary: Optional[str],
    config: Optional[str],
    on_event: Optional[OnEvent],
) -> BatchResult:
    url = _server(server)
    if url is not None:
        _check_server_can(parallel, partial, binary, config, on_event)
        return Client(url).run_tasks(tasks)
    if not tasks:
        return {"success": True, "workers": [], "failed": [], "fallback_applied": 0}
    given = program.lines(tasks)
    line = program.arguments(_DEFAULT_PARALLEL if parallel is None else parallel, partial, config)
    return cast(BatchResult, program.run(binary, line, given, on_event))


async def _run_async(
    tasks: List[Dict[str, Any]],
    parallel: Optional[int],
    partial: bool,
    server: Optional[str],
    binary: Optional[str],
    config: Optional[str],
    on_event: Optional[OnEvent],
) -> BatchResult:
    url = _server(server)
    if url is not None:
        _check_server_can(parallel, partial, binary, config, on_event)
        return await AsyncClient(url).run_tasks(tasks)
    if not tasks:
        return {"success": True, "workers": [], "failed": [], "fallback_applied": 0}
    given = program.lines(tasks)
    line = program.arguments(_DEFAULT_PARALLEL if parallel is None else parallel, partial, config)
    return cast(BatchResult, await program.run_async(binary, line, given, on_event))
