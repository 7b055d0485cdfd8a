"""The same without holding up a loop: each call is made on a thread of its own."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Dict, Iterator, List, Mapping, Optional, Sequence

from .client import Client, _batch
from .types import BatchResult, TaskResult


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

    async def wait(self, task: str, every: float = 0.5) -> TaskResult:
        """Waits until a task is over."""
        from .client import _OPEN, _result

        while True:
            known = await self.task(task)
            if known["state"] not in _OPEN:
                return _result(known)
            await asyncio.sleep(every)

    async def run_tasks(self, tasks: Sequence[Mapping[str, Any]]) -> BatchResult:
        """Leaves tasks to the server's workers and waits until all are over."""
        ids = await self.add_tasks(tasks)
        return _batch(list(await asyncio.gather(*(self.wait(task) for task in ids))))

    async def events(self) -> AsyncIterator[Dict[str, Any]]:
        """Everything that happens from now on, until the caller stops reading."""
        events: Iterator[Dict[str, Any]] = self._client.events()
        while True:
            event = await asyncio.to_thread(next, events, None)
            if event is None:
                return
            yield event
