"""A running server."""

from __future__ import annotations

import asyncio
import http.server
import pathlib
import subprocess
import sys
import threading
from typing import Iterator, List

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


LISTENS = """
import asyncio, sys
from steadfast import AsyncClient

async def main():
    events = AsyncClient(sys.argv[1]).events()
    task = asyncio.create_task(events.__anext__())
    await asyncio.sleep(0.5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async for event in AsyncClient("http://127.0.0.1:1").events():
        pass

asyncio.run(main())
"""


def test_a_program_that_stops_listening_can_end(server: str) -> None:
    source = pathlib.Path(steadfast.__file__).parents[1]
    line = [sys.executable, "-c", LISTENS, server]
    ended = subprocess.run(line, env={"PYTHONPATH": str(source)}, capture_output=True, text=True, timeout=60)
    assert "ApiError: 0 unreachable: nobody answers at http://127.0.0.1:1" in ended.stderr, ended.stderr


@pytest.fixture
def shaky() -> Iterator[str]:
    """A server that is away for two questions, breaks off its third answer, and then knows a task that is done."""
    asked: List[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if len(asked) == 1:
                self.send_error(503)
            elif len(asked) == 2:
                self.close_connection = True
            elif len(asked) == 3:
                self._answer(b"{", 100)
            else:
                self._answer(b'{"id": "t", "state": "done", "result": {"success": true}}', 57)

        def _answer(self, body: bytes, length: int) -> None:
            self.send_response(200)
            self.send_header("content-length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    answering = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=answering.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{answering.server_port}"
    answering.shutdown()
    answering.server_close()


def test_a_server_that_is_away_for_a_while_is_waited_for(shaky: str) -> None:
    assert Client(shaky).wait("t", every=0.01)["success"]


def test_a_server_that_is_away_for_a_while_is_waited_for_without_holding_up_a_loop(shaky: str) -> None:
    assert asyncio.run(AsyncClient(shaky).wait("t", every=0.01))["success"]


def test_patience_has_an_end(shaky: str) -> None:
    with pytest.raises(steadfast.ApiError) as away:
        Client(shaky).wait("t", patience=0)
    assert away.value.status == 503
    with pytest.raises(steadfast.ApiError, match="0 unreachable"):
        Client(shaky).task("t")
    with pytest.raises(steadfast.ApiError, match="0 unreachable"):
        Client(shaky).task("t")
