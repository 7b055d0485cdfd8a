"""The shapes of what goes in and what comes out."""

from __future__ import annotations

from typing import List, Optional, TypedDict


class _TaskNeeds(TypedDict):
    task: str


class TaskSpec(_TaskNeeds, total=False):
    """A task: what the agent is told, and how it is to be done. Times are in seconds."""

    label: str
    model: str
    agent: str
    command: List[str]
    arguments: List[str]
    fallback_order: List[str]
    policy: str
    project: str
    session: str
    folder: str
    max_retries: int
    retry_delay: float
    timeout: float
    silence: float
    deadline: float
    budget_usd: float


class Usage(TypedDict):
    """Tokens."""

    input_tokens: int
    output_tokens: int


class TaskResult(TypedDict):
    """What came of a task."""

    success: bool
    session_id: Optional[str]
    model_used: str
    attempts: int
    fallback_chain: List[str]
    error: Optional[str]
    task_id: str
    label: str
    original_model: str
    outcome: str
    error_type: Optional[str]
    result: str
    restarts: int
    usage: Usage
    cost_usd: Optional[float]
    took_ms: int


class BatchResult(TypedDict):
    """What came of many tasks."""

    success: bool
    workers: List[TaskResult]
    failed: List[str]
    fallback_applied: int
