"""A running server, asked and told."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

from .errors import ApiError
from .types import BatchResult, TaskResult

#: States in which something is still to happen to a task.
_OPEN = ("waiting", "running")

#: What a server that starts anew, or is not there for a moment, is heard as.
_AWAY = (0, 503)

#: How long it may be away while a task is waited for, in seconds.
_PATIENCE = 60.0


class Client:
    """A running ``steadfast serve``. The token is needed where the server asks for one (``STEADFAST_TOKEN``)."""

    def __init__(
        self, url: Optional[str] = None, token: Optional[str] = None, timeout: float = 30.0
    ) -> None:
        self.url = (url or os.environ.get("STEADFAST_URL") or "http://127.0.0.1:4141").rstrip("/")
        self._token = token or os.environ.get("STEADFAST_TOKEN")
        self._timeout = timeout

    # Policies

    def retry_policy(self, project: Optional[str] = None) -> Dict[str, Any]:
        """The policy in force, of a project where one is named."""
        return self._object("GET", self._policy_path(project))

    def set_retry_policy(self, policy: Mapping[str, Any], project: Optional[str] = None) -> Dict[str, Any]:
        """Puts another policy in force."""
        return self._object("PUT", self._policy_path(project), policy)

    # Sessions

    def sessions(self, **filters: Any) -> Dict[str, Any]:
        """Conversations, newest first."""
        return self._object("GET", "/api/sessions" + _query(filters))

    def session(self, session: str) -> Dict[str, Any]:
        """One conversation."""
        return self._object("GET", f"/api/sessions/{_part(session)}")

    def retry(self, session: str, **body: Any) -> Dict[str, Any]:
        """Has the last turn of a conversation tried again, with what failed before."""
        return self._object("POST", f"/api/sessions/{_part(session)}/retry", body)

    def escalate(self, session: str, **body: Any) -> Dict[str, Any]:
        """Moves a conversation to a more capable model."""
        return self._object("POST", f"/api/sessions/{_part(session)}/escalate", body)

    # What happened, and what happens

    def failures(self, **filters: Any) -> Dict[str, Any]:
        """Failures in figures: totals, by kind, model, endpoint, project, day."""
        return self._object("GET", "/api/analytics/failures" + _query(filters))

    def endpoints(self) -> List[Dict[str, Any]]:
        """Every endpoint with its breaker and health."""
        return list(self._object("GET", "/api/endpoints")["endpoints"])

    def events(self) -> Iterator[Dict[str, Any]]:
        """Everything that happens from now on, until the caller stops reading."""
        return self._events(lambda _: None)

    def _events(self, connected: Callable[[socket.socket], None]) -> Iterator[Dict[str, Any]]:
        """The same; `connected` is handed the socket, which another thread may shut down."""
        connection, response = self._open("GET", "/api/events", None, connected)
        try:
            yield from _said(response)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            response.close()
            connection.close()

    # Tasks

    def add_tasks(self, tasks: Sequence[Mapping[str, Any]]) -> List[str]:
        """Leaves tasks to the server's workers, and says their ids."""
        return list(self._object("POST", "/api/tasks", {"tasks": [dict(task) for task in tasks]})["ids"])

    def tasks(self, **filters: Any) -> Dict[str, Any]:
        """Tasks, newest first."""
        return self._object("GET", "/api/tasks" + _query(filters))

    def task(self, task: str) -> Dict[str, Any]:
        """One task with everything that is known of it."""
        return self._object("GET", f"/api/tasks/{_part(task)}")

    def cancel(self, task: str) -> Dict[str, Any]:
        """Stops a task for good."""
        return self._object("POST", f"/api/tasks/{_part(task)}/cancel")

    def retry_task(self, task: str) -> Dict[str, Any]:
        """Runs a task that is over once more."""
        return self._object("POST", f"/api/tasks/{_part(task)}/retry")

    def wait(self, task: str, every: float = 0.5, patience: float = _PATIENCE) -> TaskResult:
        """Waits until a task is over. The server may be away for ``patience`` seconds: tasks outlive it."""
        away = _Away(patience)
        while True:
            try:
                known = self.task(task)
            except ApiError as error:
                away.bear(error)
            else:
                away.over()
                if known["state"] not in _OPEN:
                    return _result(known)
            time.sleep(every)

    def run_tasks(self, tasks: Sequence[Mapping[str, Any]]) -> BatchResult:
        """Leaves tasks to the server's workers and waits until all are over."""
        workers = [self.wait(task) for task in self.add_tasks(tasks)]
        return _batch(workers)

    # How

    @staticmethod
    def _policy_path(project: Optional[str]) -> str:
        return "/api/retry-policy" if project is None else f"/api/projects/{_part(project)}/retry-policy"

    def _object(self, method: str, path: str, body: Any = None) -> Dict[str, Any]:
        connection, response = self._open(method, path, body)
        try:
            answer = json.loads(response.read() or b"{}")
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        except ValueError as error:
            raise ApiError(response.status, "not_json", "what answers there is not Steadfast") from error
        finally:
            connection.close()
        if not isinstance(answer, dict):
            raise ApiError(response.status, "not_an_object", "what answers there is not Steadfast", answer)
        return answer

    def _open(
        self, method: str, path: str, body: Any, streaming: Optional[Callable[[socket.socket], None]] = None
    ) -> "tuple[http.client.HTTPConnection, http.client.HTTPResponse]":
        """Sends a request and reads the head of its answer. What streams may be silent as long as it likes after it."""
        where = urllib.parse.urlsplit(self.url)
        kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
        connection = kind(where.hostname or "127.0.0.1", where.port, timeout=self._timeout)
        headers = {"accept": "application/json"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        sent = None
        if body is not None:
            sent = json.dumps(body).encode()
            headers["content-type"] = "application/json"
        try:
            connection.connect()
            line = connection.sock
            if streaming is not None:
                streaming(line)
            connection.request(method, where.path.rstrip("/") + path, sent, headers)
            response = connection.getresponse()
            if response.status >= 400:
                raise _problem(response)
            if streaming is not None:
                line.settimeout(None)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        except BaseException:
            connection.close()
            raise
        return connection, response

    def _unreachable(self, error: Exception) -> ApiError:
        return ApiError(0, "unreachable", f"nobody answers at {self.url}: {error or type(error).__name__}")


class _Away:
    """How long a server has been away, and whether that is too long."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since: Optional[float] = None

    def bear(self, error: ApiError) -> None:
        """Raises what cannot be borne, or not any longer."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if error.status not in _AWAY or now - self._since >= self._patience:
            raise error

    def over(self) -> None:
        """It is there again."""
        self._since = None


def _problem(response: http.client.HTTPResponse) -> ApiError:
    raw = response.read()
    try:
        body = json.loads(raw)
    except ValueError:
        return ApiError(response.status, "not_json", raw.decode(errors="replace")[:200])
    told = body.get("error", body) if isinstance(body, dict) else {}
    if isinstance(told, str):
        return ApiError(response.status, "refused", told, body)
    return ApiError(response.status, str(told.get("code", "refused")), str(told.get("message", raw)), body)


def _said(response: http.client.HTTPResponse) -> Iterator[Dict[str, Any]]:
    data: List[bytes] = []
    for line in response:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line and data:
            try:
                said = json.loads(b"\n".join(data))
            except ValueError:
                said = None
            data = []
            if isinstance(said, dict):
                yield said


def _result(known: Mapping[str, Any]) -> TaskResult:
    told = known.get("result")
    if isinstance(told, dict):
        return told  # type: ignore[return-value]
    model = known.get("model") or ""
    return {
        "success": False,
        "session_id": None,
        "model_used": model,
        "attempts": known.get("attempts", 0),
        "fallback_chain": [],
        "error": known.get("error") or "it was stopped",
        "task_id": known["id"],
        "label": known.get("label", known["id"]),
        "original_model": model,
        "outcome": known["state"],
        "error_type": known.get("kind"),
        "result": "",
        "restarts": known.get("restarts", 0),
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "cost_usd": None,
        "took_ms": 0,
    }


def _batch(workers: List[TaskResult]) -> BatchResult:
    return {
        "success": all(worker["success"] for worker in workers),
        "workers": workers,
        "failed": [worker["label"] for worker in workers if not worker["success"]],
        "fallback_applied": sum(
            1 for worker in workers if worker["success"] and worker["model_used"] != worker["original_model"]
        ),
    }


def _part(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _query(filters: Mapping[str, Any]) -> str:
    wanted = {name: value for name, value in filters.items() if value is not None}
    return "?" + urllib.parse.urlencode(wanted) if wanted else ""
