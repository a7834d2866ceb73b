"""One ``CurlMulti`` for one event loop: readiness in, callbacks out.

There is no thread and no tick. libcurl says which descriptors and which timer it
waits for; the loop tells it when something is ready. ``remove_handle`` closes the
connection of an unfinished transfer before it returns: that is the abort.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from typing import Any

import pycurl

from core.errors import TransportFailed
from core.http import _curl_options as options
from core.http._addresses import AddressPolicy
from core.http._curl_transfer import CurlTransfer
from core.http._seam import Belt, Fault, Pin, Sink, WireRequest

_IDLE_CONNECTIONS = 64
_KEPT_LABELS = 256
_TIMER_SLACK = 1e-3


class Driver:
    """Drives the transfers of one loop.

    Args:
        loop: the loop whose thread this runs on.
        cafile: a file with the trusted certificates, or None for the system's.
        policy: asked once more for every address that is connected to.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, cafile: str | None, policy: AddressPolicy
    ) -> None:
        self._loop = loop
        self._policy = policy
        self._pid = os.getpid()
        self._template = options.template(cafile)
        self._transfers: dict[Any, CurlTransfer] = {}
        self._labels: OrderedDict[str, int] = OrderedDict()  # label and port: transfers using it
        self._watched: dict[int, int] = {}
        self._sockets: set[int] = set()
        self._soon: asyncio.Handle | None = None
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0
        self._due: float | None = None
        self._inside = 0
        self._closed = False
        self._doomed: list[CurlTransfer] = []
        self._fed: list[CurlTransfer] = []
        self._multi = self._new_multi()

    def start(self, request: WireRequest, pin: Pin, belt: Belt, sink: Sink) -> CurlTransfer:
        """Hand a request to libcurl; nothing is heard of it before this returns.

        Raises:
            TransportFailed: nothing was sent.
        """
        if os.getpid() != self._pid:
            raise TransportFailed(
                "A transport cannot be used in a forked process",
                code="transport_unusable",
                hint="Create the client in the process that uses it.",
            )
        label = f"{pin.label}:{request.url.port}"
        number = 0
        easy = self._template.duphandle()
        try:
            options.apply(easy, request, pin, belt, self._take_stale_labels(label))
            transfer = CurlTransfer(self, easy, sink, pin=pin, policy=self._policy, label=label)
            self._multi.add_handle(easy)
            self._transfers[easy] = transfer
        except pycurl.error as error:
            number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        finally:
            if easy not in self._transfers:
                easy.close()
        if easy not in self._transfers:
            raise TransportFailed(
                f"The transport refused the request (error {number})",
                code="transport_unusable",
                number=number,
            )
        self._labels[label] = self._labels.get(label, 0) + 1
        return transfer

    def discard(self, transfer: CurlTransfer) -> None:
        """Take a transfer out and close its connection, now unless libcurl is at work."""
        if self._inside:
            # Only from one of its callbacks, which then ends the transfer itself.
            self._doomed.append(transfer)
        else:
            self._remove(transfer)

    def resume(self, transfer: CurlTransfer) -> None:
        """Let a halted transfer go on."""
        if self._inside:
            self._loop.call_soon(self._unpause, transfer)
        else:
            self._unpause(transfer)

    def has_body(self, transfer: CurlTransfer) -> None:
        """Take note that ``transfer`` has something for its sink, after this action."""
        self._fed.append(transfer)

    def opened(self, descriptor: int) -> None:
        """Take note that ``descriptor`` is now a connection of libcurl's."""
        self._unwatch(descriptor)
        self._sockets.add(descriptor)

    def close(self) -> None:
        """End every transfer and every connection, now unless libcurl is at work."""
        if self._inside:
            self._loop.call_soon(self.close)
            return
        if self._closed:
            return
        self._closed = True
        transfers = list(self._transfers.values())
        for transfer in transfers:
            transfer.fail(Fault.CLOSED)
            self._remove(transfer)
        self._stop_timers()
        for descriptor in list(self._watched):
            self._unwatch(descriptor)
        self._multi.close()
        self._template.close()

    # ---- what libcurl asks of the loop

    def _new_multi(self) -> Any:
        multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        multi.setopt(pycurl.M_MAXCONNECTS, _IDLE_CONNECTIONS)
        return multi

    def _on_socket(self, what: int, descriptor: int, *_rest: object) -> None:
        # An exception here would end every transfer of the multi.
        try:
            if what != pycurl.POLL_REMOVE:
                self._watch(descriptor, what)
            elif descriptor in self._sockets:
                self._unwatch(descriptor)
            # The rest is the multi's own wake-up descriptor: libcurl wants it watched
            # and not watched for every transfer, and closes it only with the multi.
        except (OSError, RuntimeError, ValueError):
            self._watched.pop(descriptor, None)

    def _watch(self, descriptor: int, what: int) -> None:
        before = self._watched.get(descriptor, 0)
        self._watched[descriptor] = what
        if what & pycurl.POLL_IN:
            if not before & pycurl.POLL_IN:
                self._loop.add_reader(descriptor, self._act, descriptor, pycurl.CSELECT_IN)
        elif before & pycurl.POLL_IN:
            self._loop.remove_reader(descriptor)
        if what & pycurl.POLL_OUT:
            if not before & pycurl.POLL_OUT:
                self._loop.add_writer(descriptor, self._act, descriptor, pycurl.CSELECT_OUT)
        elif before & pycurl.POLL_OUT:
            self._loop.remove_writer(descriptor)

    def _unwatch(self, descriptor: int) -> None:
        before = self._watched.pop(descriptor, 0)
        if self._loop.is_closed():
            return
        if before & pycurl.POLL_IN:
            self._loop.remove_reader(descriptor)
        if before & pycurl.POLL_OUT:
            self._loop.remove_writer(descriptor)

    def _on_timer(self, milliseconds: int) -> None:
        try:
            if milliseconds == 0:
                self._due = None
                if self._soon is None:
                    self._soon = self._loop.call_soon(self._on_soon)
                return
            self._due = due = None if milliseconds < 0 else self._loop.time() + milliseconds / 1e3
            # A timer that is too early stays, and is set again when it fires: nearly all
            # are belts, which never fire at all.
            if due is not None and (self._timer is None or due < self._timer_at):
                self._arm(due)
        except RuntimeError:
            self._due = None  # the loop is closed

    def _arm(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._loop.call_at(due, self._on_time)

    def _stop_timers(self) -> None:
        for handle in (self._soon, self._timer):
            if handle is not None:
                handle.cancel()
        self._soon = self._timer = self._due = None

    def _on_soon(self) -> None:
        self._soon = None
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _on_time(self) -> None:
        self._timer = None
        due = self._due
        if due is None:
            return
        if due > self._loop.time() + _TIMER_SLACK:
            self._arm(due)
            return
        self._due = None
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    # ---- what the loop tells libcurl

    def _act(self, descriptor: int, ready: int) -> None:
        if not self._transfers and descriptor in self._watched.keys() - self._sockets:
            self._unwatch(descriptor)
            return
        self._inside += 1
        try:
            self._multi.socket_action(descriptor, ready)
        except BaseException as error:
            self._inside -= 1
            self._rebuild()
            if not isinstance(error, Exception):
                raise
            return
        self._inside -= 1
        self._collect()

    def _unpause(self, transfer: CurlTransfer) -> None:
        if transfer.done:
            return
        self._inside += 1
        try:
            transfer.easy.pause(pycurl.PAUSE_CONT)
        except pycurl.error:
            pass  # the write callback ended it; the next action reports that
        finally:
            self._inside -= 1
        self._collect()

    def _collect(self) -> None:
        while self._doomed:
            self._remove(self._doomed.pop())
        while self._fed:
            transfer = self._fed.pop()
            if not transfer.hand_on():
                self._finish(transfer.easy, pycurl.E_WRITE_ERROR)
        remaining = 1
        while remaining and not self._closed:  # a sink may have closed it
            remaining, succeeded, failed = self._multi.info_read()
            for easy in succeeded:
                self._finish(easy, 0)
            for easy, number, _text in failed:
                self._finish(easy, number)

    def _finish(self, easy: Any, number: int) -> None:
        transfer = self._transfers.get(easy)
        if transfer is None or transfer.done:
            return
        transfer.done = True
        self._remove(transfer)
        transfer.finish(number)

    def _remove(self, transfer: CurlTransfer) -> None:
        if self._transfers.pop(transfer.easy, None) is None:
            return
        self._labels[transfer.label] -= 1
        self._inside += 1
        try:
            self._multi.remove_handle(transfer.easy)
        except pycurl.error:
            pass  # closing the handle takes it out as well
        finally:
            self._inside -= 1
        transfer.easy.close()

    def _rebuild(self) -> None:
        # After an exception out of libcurl its documentation asks for an empty multi.
        broken, self._multi = self._multi, self._new_multi()
        transfers = list(self._transfers.values())
        self._transfers.clear()
        self._labels.clear()
        self._doomed.clear()
        self._fed.clear()
        self._stop_timers()
        for descriptor in list(self._watched):
            self._unwatch(descriptor)
        for transfer in transfers:
            transfer.easy.close()
        broken.close()
        for transfer in transfers:
            transfer.fail(Fault.OTHER)

    def _take_stale_labels(self, wanted: str) -> list[str]:
        """Forget the oldest unused labels: libcurl's name cache would keep them all."""
        if wanted in self._labels:
            self._labels.move_to_end(wanted)
            return []
        surplus = len(self._labels) - _KEPT_LABELS
        if surplus < 0:
            return []
        stale = [label for label, users in self._labels.items() if users == 0][: surplus + 1]
        for label in stale:
            del self._labels[label]
        return stale
