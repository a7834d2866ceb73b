"""What was spent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Spending of one call, or the sum of many.

    Attributes:
        requests: model calls handed to a transport.
        input_tokens: tokens read.
        output_tokens: tokens written.
        cost_usd: US dollars, or None where a price is unknown.
        estimated: True if any number is our estimate and not the provider's count.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; a cost is known only if it is known of everything spent."""
        if self == _NOTHING:
            return other
        if other == _NOTHING:
            return self
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            estimated=self.estimated or other.estimated,
        )

    @property
    def total_tokens(self) -> int:
        """Return input plus output tokens."""
        return self.input_tokens + self.output_tokens


_NOTHING = Usage()
