"""Events of a run, by hand: what a stream may hold, in any order a test needs."""

from __future__ import annotations

from typing import Any

from core.model import (
    Assembled,
    Cancelled,
    CancelLevel,
    CancelRequested,
    Completed,
    Delta,
    Failed,
    InFlight,
    Message,
    Output,
    Receipt,
    Request,
    Response,
    Started,
    StepError,
    StepOutcome,
    TerminationReason,
    Tool,
    ToolCall,
    ToolStarted,
    Usage,
)

RUN = "0195e6a0-0000-7000-8000-000000000001"
T0 = 1_900_000_000_000_000
CALL = ToolCall("call_1", "get_weather", '{"city": "Bergen"}')
SPENT = Usage(1, 100, 20)


class Script:
    """Makes events with dense seqs and times a second apart."""

    def __init__(self) -> None:
        self.seq = -1
        self.at_us = T0

    def _next(self, round_: int = 1) -> dict[str, Any]:
        self.seq += 1
        self.at_us += 1_000_000
        return {"run_id": RUN, "seq": self.seq, "at_us": self.at_us, "round": round_}

    def started(self, **request: Any) -> Started:
        fields = {"prompt": "Weather?", "model": "m", "max_rounds": 10} | request
        return Started(**self._next(0), model="m", request=fields)

    def assembled(self, content: str = "Weather?") -> Assembled:
        messages = (Message("user", content),)
        return Assembled(**self._next(0), step="0.1", messages=messages, tools=("get_weather",))

    def request(self, step: str = "1.1", round_: int = 1, **fields: Any) -> Request:
        values: dict[str, Any] = {"attempt": 1, "messages": 1, "digest": "00"} | fields
        return Request(**self._next(round_), step=step, name="m", model="m-1", **values)

    def delta(self, text: str, offset: int, step: str = "1.1", **fields: Any) -> Delta:
        return Delta(run_id=RUN, at_us=self.at_us, step=step, offset=offset, text=text, **fields)

    def output(self, text: str, offset: int, step: str = "1.2") -> Output:
        return Output(run_id=RUN, at_us=self.at_us, step=step, offset=offset, text=text)

    def response(self, text: str = "", step: str = "1.1", round_: int = 1, **more: Any) -> Response:
        values: dict[str, Any] = {"outcome": StepOutcome.OK, "usage": SPENT} | more
        return Response(
            **self._next(round_), step=step, name="m", text=text, duration_ms=900.0, **values
        )

    def tool_started(self, step: str = "1.2", call: ToolCall = CALL) -> ToolStarted:
        return ToolStarted(
            **self._next(),
            step=step,
            name=call.name,
            tool_call_id=call.id,
            arguments=call.arguments,
            effect="pure",
        )

    def tool(
        self, result: str = "8 °C", step: str = "1.2", call: ToolCall = CALL, **more: Any
    ) -> Tool:
        values: dict[str, Any] = {"outcome": StepOutcome.OK, "executed": True} | more
        return Tool(
            **self._next(), step=step, name=call.name, tool_call_id=call.id, result=result, **values
        )

    def cancel_requested(
        self, level: CancelLevel = CancelLevel.BOUNDARY, *in_flight: InFlight
    ) -> CancelRequested:
        return CancelRequested(**self._next(), level=level, by="ann", in_flight=in_flight)

    def completed(self, text: str = "Rain.", **more: Any) -> Completed:
        values: dict[str, Any] = {"usage": SPENT, "rounds": 2, "tool_calls": 1} | more
        reason = more.pop("termination_reason", TerminationReason.COMPLETED)
        values.pop("termination_reason", None)
        return Completed(**self._next(0), text=text, termination_reason=reason, **values)

    def failed(self) -> Failed:
        return Failed(
            **self._next(0),
            termination_reason=TerminationReason.PROVIDER_FAILED,
            error=StepError(code="auth", message="The server refused the credential."),
            usage=SPENT,
            rounds=1,
            tool_calls=0,
        )

    def cancelled(self, level: CancelLevel = CancelLevel.BOUNDARY, **more: Any) -> Cancelled:
        values: dict[str, Any] = {
            "requested_at_us": self.at_us - 1_300_000,
            "requested_by": "ann",
            "reason": "enough",
            "level": level,
            "stopped_at_us": self.at_us,
            "boundary": "1.1",
            "usage": SPENT,
            "usage_in_flight": Usage(),
            "usage_after_request": Usage(),
        } | more
        return Cancelled(
            **self._next(0),
            receipt=Receipt(**values),
            text="Partly cl",
            usage=SPENT,
            rounds=1,
            tool_calls=0,
        )
