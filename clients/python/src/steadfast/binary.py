"""Finds and runs the ``steadfast`` program."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .errors import BinaryNotFound, SteadfastError, TaskFileError

#: Called with everything that happens to a task, as it happens.
OnEvent = Callable[[Dict[str, Any]], None]

#: How long the program may take to end what it runs, in seconds, before it is killed. What it ran is ended then too.
_GRACE = 20.0


def find(binary: Optional[str] = None) -> str:
    """The program: the one that is named, ``STEADFAST_BINARY``, or the one on the path."""
    named = binary or os.environ.get("STEADFAST_BINARY") or "steadfast"
    found = shutil.which(named)
    if found is None:
        raise BinaryNotFound(f"there is no program `{named}`: install Steadfast, or name it with STEADFAST_BINARY")
    return found


def arguments(parallel: int, partial: bool, config: Optional[str]) -> List[str]:
    """The command line of a batch whose tasks come on standard input."""
    line = ["spawn", "--json", "--file", "-", "--parallel", str(max(1, min(parallel, 1024)))]
    if not partial:
        line.append("--together")
    if config is not None:
        line += ["--config", config]
    return line


def lines(tasks: Sequence[Mapping[str, Any]]) -> bytes:
    """Tasks as JSON lines."""
    return b"".join(json.dumps(dict(task)).encode() + b"\n" for task in tasks)


class _Heard:
    """What the program has said so far."""

    def __init__(self, on_event: Optional[OnEvent]) -> None:
        self.result: Optional[Dict[str, Any]] = None
        self._on_event = on_event

    def line(self, line: bytes) -> None:
        if not line.strip():
            return
        said = json.loads(line)
        if "result" in said:
            self.result = said["result"]
        elif self._on_event is not None:
            self._on_event(said)

    def outcome(self, code: int, talk: bytes) -> Dict[str, Any]:
        if self.result is not None:
            return self.result
        words = talk.decode(errors="replace").strip()
        if "is no file of tasks" in words or "the task `" in words:
            raise TaskFileError(words)
        raise SteadfastError(f"steadfast ended with exit code {code}: {words}")


def run(binary: Optional[str], line: List[str], given: bytes, on_event: Optional[OnEvent]) -> Dict[str, Any]:
    """Runs the program to its end; an interrupt ends it and all it runs."""
    heard = _Heard(on_event)
    # A file, so that nobody waits for somebody to read what is said there.
    with tempfile.TemporaryFile() as talk:
        process = subprocess.Popen([find(binary), *line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=talk)
        assert process.stdin is not None and process.stdout is not None
        try:
            try:
                process.stdin.write(given)
                process.stdin.close()
            except BrokenPipeError:
                pass  # It says on standard error why it does not listen.
            for said in process.stdout:
                heard.line(said)
            code = process.wait()
        except BaseException:
            process.terminate()
            # It may be in the middle of saying something: nobody listens any more, and it must not wait for that.
            process.stdout.close()
            _wait_or_kill(process)
            raise
        finally:
            process.stdout.close()
        talk.seek(0)
        return heard.outcome(code, talk.read())


def _wait_or_kill(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


async def run_async(
    binary: Optional[str], line: List[str], given: bytes, on_event: Optional[OnEvent]
) -> Dict[str, Any]:
    """The same without holding up a loop; a cancelled call ends the program and all it runs."""
    heard = _Heard(on_event)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        find(binary), *line, stdin=pipe, stdout=pipe, stderr=pipe, limit=64 * 1024 * 1024
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    try:
        try:
            process.stdin.write(given)
            await process.stdin.drain()
            process.stdin.close()
        except (BrokenPipeError, ConnectionResetError):
            pass
        talk = asyncio.create_task(process.stderr.read())
        async for said in process.stdout:
            heard.line(said)
        words = await talk
        return heard.outcome(await process.wait(), words)
    except BaseException:
        if process.returncode is None:
            process.terminate()
            await _wait_or_kill_async(process)
        raise


async def _wait_or_kill_async(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _GRACE)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
