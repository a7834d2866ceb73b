"""The tool loop. It gets a step hook and knows nothing of runs or stores."""

from core.agent.attempts import ModelFailed
from core.agent.hook import ModelStep, StepHook, StepScope, Stopped, ToolReply, ToolStep
from core.agent.loop import failed, run_loop
from core.agent.plan import Limits, LoopResult, Plan

__all__ = [
    "Limits",
    "LoopResult",
    "ModelFailed",
    "ModelStep",
    "Plan",
    "StepHook",
    "StepScope",
    "Stopped",
    "ToolReply",
    "ToolStep",
    "failed",
    "run_loop",
]
