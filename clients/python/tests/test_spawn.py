"""The two functions of the session manager, with the real binary."""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys
from typing import Any, List

import pytest

import steadfast
from steadfast import binary as program
from steadfast import spawn_parallel_workers_with_fallback, spawn_subagent_with_retry


def test_a_worker_that_works(agent: List[str]) -> None:
    result = spawn_subagent_with_retry(task="count", model="good", label="w1", command=agent)
    assert result["success"] and result["error"] is None
    assert (result["model_used"], result["attempts"], result["fallback_chain"]) == ("good", 1, ["good"])
    assert result["result"] == "good did: count\n"
    assert result["label"] == "w1" and "session_id" in result


def test_a_rate_limit_is_retried_and_then_the_next_model_does_it(agent: List[str], home: pathlib.Path) -> None:
    seen = []
    result = spawn_subagent_with_retry(
        task="limited",
        model="busy",
        label="data-worker",
        fallback_order=["busy", "good"],
        max_retries=2,
        retry_delay=0.02,
        command=agent,
        on_event=seen.append,
    )
    assert result["success"] and result["model_used"] == "good" and result["original_model"] == "busy"
    assert result["attempts"] == 4, "one, two retries, and the next model"
    steps = [event["step"] for event in seen if event["event"] == "decision"]
    assert steps == ["retry", "retry", "fallback"]
    log = home / ".local/state/steadfast/fallback_decisions.jsonl"
    entry = json.loads(log.read_text().splitlines()[-1])
    assert entry["original_model"] == "busy" and entry["fallback_model"] == "good"
    assert (entry["error_type"], entry["label"]) == ("rate_limit", "data-worker")


def test_all_models_fail(agent: List[str]) -> None:
    result = spawn_subagent_with_retry("missing", "a", "w", fallback_order=["b", "c"], command=agent)
    assert not result["success"] and result["fallback_chain"] == ["a", "b", "c"]
    assert result["error_type"] == "model_unavailable" and "model not found" in (result["error"] or "")


def test_only_those_that_fail_change_their_model(agent: List[str]) -> None:
    tasks = [
        {"task": "one", "model": "first", "label": "worker-1"},
        {"task": "missing two", "model": "first", "label": "worker-2"},
        {"task": "broken three", "model": "first", "label": "worker-3"},
    ]
    result = spawn_parallel_workers_with_fallback(tasks, fallback_order=["good"], command=agent)
    assert not result["success"]
    assert result["failed"] == ["worker-3"] and result["fallback_applied"] == 1
    assert [worker["model_used"] for worker in result["workers"]] == ["first", "good", "good"]


def test_no_tasks_are_done_at_once() -> None:
    assert spawn_parallel_workers_with_fallback([])["success"]


def test_what_cannot_be_is_named(home: pathlib.Path) -> None:
    with pytest.raises(steadfast.TaskFileError, match="there is no agent `clyde`"):
        spawn_subagent_with_retry("x", "m", "l", agent="clyde")
    with pytest.raises(steadfast.TaskFileError, match="unknown field `modle`"):
        spawn_parallel_workers_with_fallback([{"task": "x", "modle": "m"}])
    with pytest.raises(steadfast.BinaryNotFound, match="STEADFAST_BINARY"):
        spawn_subagent_with_retry("x", "m", "l", binary="no-such-steadfast")


def test_without_holding_up_a_loop(agent: List[str]) -> None:
    async def both() -> None:
        one = steadfast.spawn_subagent_with_retry_async("a", "good", "a", command=agent)
        two = steadfast.spawn_parallel_workers_with_fallback_async(
            [{"task": "b", "model": "good", "label": "b"}], command=agent
        )
        first, second = await asyncio.gather(one, two)
        assert first["success"] and second["success"]

    asyncio.run(both())


def test_a_call_that_is_cancelled_leaves_nothing_running(agent: List[str]) -> None:
    async def cancelled() -> None:
        call = asyncio.create_task(steadfast.spawn_subagent_with_retry_async("slow", "m", "s", command=agent))
        await asyncio.sleep(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(asyncio.wait_for(cancelled(), 30))


def _stubborn(home: pathlib.Path, rest: str) -> str:
    """A program that does not end when it is told to, and says something over and over, or once."""
    path = home / "stubborn"
    path.write_text(f"#!{sys.executable}\nimport signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{rest}\n")
    path.chmod(0o755)
    return str(path)


class Enough(Exception):
    pass


def _enough(event: Any) -> None:
    raise Enough


@pytest.mark.parametrize(
    "rest",
    [
        # It would wait for ever to be listened to.
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\nwhile True: print('{\"event\": \"x\"}', flush=True)",
        # It would wait for ever.
        "print('{\"event\": \"x\"}', flush=True)\ntime.sleep(600)",
    ],
)
def test_a_program_that_does_not_end_keeps_nobody(
    home: pathlib.Path, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    monkeypatch.setattr(program, "_GRACE", 0.5)
    stubborn = _stubborn(home, rest)
    with pytest.raises(Enough):
        spawn_subagent_with_retry("x", "m", "l", binary=stubborn, on_event=_enough)
    with pytest.raises(Enough):
        asyncio.run(steadfast.spawn_subagent_with_retry_async("x", "m", "l", binary=stubborn, on_event=_enough))


def test_what_a_server_cannot_honour_is_refused_before_anything_is_done(home: pathlib.Path) -> None:
    nowhere = "http://127.0.0.1:1"
    with pytest.raises(ValueError, match="a server does not take parallel, partial_substitution=False: leave it out"):
        spawn_parallel_workers_with_fallback([{"task": "x"}], partial_substitution=False, parallel=2, server=nowhere)
    with pytest.raises(ValueError, match="binary, config, on_event"):
        spawn_subagent_with_retry("x", "m", "l", server=nowhere, binary="b", config="c", on_event=print)
    with pytest.raises(ValueError, match="on_event"):
        asyncio.run(steadfast.spawn_subagent_with_retry_async("x", "m", "l", server=nowhere, on_event=print))
    with pytest.raises(steadfast.ApiError, match="nobody answers"):
        spawn_parallel_workers_with_fallback([{"task": "x"}], server=nowhere)
