"""The same without holding up a loop: each call is made on a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, AsyncIterator, Callable, Dict, List, Mapping, Optional, Sequence

from .client import _OPEN, _PATIENCE, Client, _Away, _batch, _result
from .errors import ApiError, SteadfastError
from .types import BatchResult, TaskResult

#: Events that wait to be looked at; the server waits while there are more.
_EVENTS_MAX = 256


class AsyncClient:
    """A running ``steadfast serve``, for programs that must not wait."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, timeout: float = 30.0) -> None:
        self._client = Client(url, token, timeout)

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._client.url

    async def retry_policy(self, project: Optional[str] = None) -> Dict[str, Any]:
        """The policy in force, of a project where one is named."""
        return await asyncio.to_thread(self._client.retry_policy, project)

    async def set_retry_policy(self, policy: Mapping[str, Any], project: Optional[str] = None) -> Dict[str, Any]:
        """Puts another policy in force."""
        return await asyncio.to_thread(self._client.set_retry_policy, policy, project)

    async def sessions(self, **filters: Any) -> Dict[str, Any]:
        """Conversations, newest first."""
        return await asyncio.to_thread(lambda: self._client.sessions(**filters))

    async def session(self, session: str) -> Dict[str, Any]:
        """One conversation."""
        return await asyncio.to_thread(self._client.session, session)

    async def retry(self, session: str, **body: Any) -> Dict[str, Any]:
        """Has the last turn of a conversation tried again, with what failed before."""
        return await asyncio.to_thread(lambda: self._client.retry(session, **body))

    async def escalate(self, session: str, **body: Any) -> Dict[str, Any]:
        """Moves a conversation to a more capable model."""
        return await asyncio.to_thread(lambda: self._client.escalate(session, **body))

    async def failures(self, **filters: Any) -> Dict[str, Any]:
        """Failures in figures."""
        return await asyncio.to_thread(lambda: self._client.failures(**filters))

    async def endpoints(self) -> List[Dict[str, Any]]:
        """Every endpoint with its breaker and health."""
        return await asyncio.to_thread(self._client.endpoints)

    async def add_tasks(self, tasks: Sequence[Mapping[str, Any]]) -> List[str]:
        """Leaves tasks to the server's workers, and says their ids."""
        return await asyncio.to_thread(self._client.add_tasks, tasks)

    async def tasks(self, **filters: Any) -> Dict[str, Any]:
        """Tasks, newest first."""
        return await asyncio.to_thread(lambda: self._client.tasks(**filters))

    async def task(self, task: str) -> Dict[str, Any]:
        """One task with everything that is known of it."""
        return await asyncio.to_thread(self._client.task, task)

    async def cancel(self, task: str) -> Dict[str, Any]:
        """Stops a task for good."""
        return await asyncio.to_thread(self._client.cancel, task)

    async def retry_task(self, task: str) -> Dict[str, Any]:
        """Runs a task that is over once more."""
        return await asyncio.to_thread(self._client.retry_task, task)

    async def wait(self, task: str, every: float = 0.5, patience: float = _PATIENCE) -> TaskResult:
        """Waits until a task is over. The server may be away for ``patience`` seconds: tasks outlive it."""
        away = _Away(patience)
        while True:
            try:
                known = await self.task(task)
            except ApiError as error:
                away.bear(error)
            else:
                away.over()
                if known["state"] not in _OPEN:
                    return _result(known)
            await asyncio.sleep(every)

    async def run_tasks(self, tasks: Sequence[Mapping[str, Any]]) -> BatchResult:
        """Leaves tasks to the server's workers and waits until all are over."""
        ids = await self.add_tasks(tasks)
        return _batch(list(await asyncio.gather(*(self.wait(task) for task in ids))))

    async def events(self) -> AsyncIterator[Dict[str, Any]]:
        """Everything that happens from now on, until the caller stops reading."""
        loop = asyncio.get_running_loop()
        heard: "asyncio.Queue[Any]" = asyncio.Queue()
        pump = _Pump(self._client, lambda said: loop.call_soon_threadsafe(heard.put_nowait, said))
        pump.start()
        try:
            while True:
                said = await heard.get()
                pump.taken()
                if said is None:
                    return
                if isinstance(said, Exception):
                    raise said
                yield said
        finally:
            pump.stop()


class _Pump(threading.Thread):
    """Reads events and hands them on: dictionaries, then an error or None. A daemon, so that it keeps no program from ending."""

    def __init__(self, client: Client, hand_on: Callable[[Any], object]) -> None:
        super().__init__(name="steadfast-events", daemon=True)
        self._client = client
        self._hand_on = hand_on
        self._room = threading.Semaphore(_EVENTS_MAX)
        self._lock = threading.Lock()
        self._line: Optional[socket.socket] = None
        self._stopped = False

    def run(self) -> None:
        end: Optional[Exception] = None
        try:
            for said in self._client._events(self._connected):
                self._room.acquire()
                if self._stopped:
                    return
                self._hand_on(said)
        except Exception as error:
            end = error if isinstance(error, SteadfastError) else SteadfastError(str(error))
        if not self._stopped:
            try:
                self._hand_on(end)
            except RuntimeError:
                pass  # The loop has ended, and with it whoever listened.

    def taken(self) -> None:
        """Something that was handed on has been looked at."""
        self._room.release()

    def stop(self) -> None:
        """Nobody listens any more: whatever the thread waits for, it waits no longer."""
        with self._lock:
            self._stopped = True
            if self._line is not None:
                _shut(self._line)
        self._room.release()

    def _connected(self, line: socket.socket) -> None:
        with self._lock:
            self._line = line
            if self._stopped:
                _shut(line)


def _shut(line: socket.socket) -> None:
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # It is closed already.
