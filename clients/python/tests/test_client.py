"""A running server."""

from __future__ import annotations

import asyncio
from typing import List

import pytest

import steadfast
from steadfast import AsyncClient, Client


def test_tasks_are_left_to_a_server_and_waited_for(server: str, agent: List[str]) -> None:
    result = steadfast.spawn_parallel_workers_with_fallback(
        [
            {"task": "one", "model": "first", "label": "worker-1"},
            {"task": "missing", "model": "first", "label": "worker-2"},
        ],
        fallback_order=["good"],
        command=agent,
        server=server,
    )
    assert result["success"] and result["fallback_applied"] == 1, result
    assert [worker["model_used"] for worker in result["workers"]] == ["first", "good"]


def test_a_task_is_listed_stopped_and_run_once_more(server: str, agent: List[str]) -> None:
    client = Client(server)
    (task,) = client.add_tasks([{"task": "slow", "model": "m", "label": "sleeper", "command": agent}])
    assert client.tasks(label="sleeper")["tasks"][0]["id"] == task
    assert client.cancel(task)["wish"] in ("done", "told")
    stopped = client.wait(task, every=0.1)
    assert not stopped["success"] and stopped["outcome"] == "cancelled"
    assert client.cancel(task)["wish"] == "nothing"
    assert client.retry_task(task)["wish"] == "done"
    client.cancel(task)


def test_what_a_server_refuses_is_an_error_that_says_why(server: str) -> None:
    client = Client(server)
    with pytest.raises(steadfast.ApiError, match="no agent `clyde`") as refused:
        client.add_tasks([{"task": "x", "agent": "clyde"}])
    assert refused.value.status == 400
    with pytest.raises(steadfast.ApiError) as missing:
        client.task("nosuch")
    assert missing.value.status == 404
    with pytest.raises(steadfast.ApiError, match="nobody answers"):
        Client("http://127.0.0.1:1").endpoints()


def test_endpoints_and_events(server: str, agent: List[str]) -> None:
    async def watch() -> None:
        client = AsyncClient(server)
        assert {endpoint["name"] for endpoint in await client.endpoints()} == {"anthropic", "openai", "gemini"}
        events = client.events()
        first = asyncio.create_task(events.__anext__())
        await asyncio.sleep(0.5)
        (task,) = await client.add_tasks([{"task": "one", "model": "m", "command": agent}])
        assert isinstance(await asyncio.wait_for(first, 20), dict)
        assert (await client.wait(task, every=0.1))["success"]

    asyncio.run(watch())
