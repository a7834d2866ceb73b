"""No secret in anything a person or a log can see."""

from __future__ import annotations

import logging
import traceback

import pytest

from core.errors import HttpError
from core.http import Bounds, Fault, Request, Response
from tests.core.http.rig import SECRET, Rig
from tests.core.http.server import answer, says, serve, silent
from tests.core.http.wire import Wire, curl
from tests.fakes.http_ports import FakeCredential

CANARIES = (SECRET, "query-canary", "header-canary", "body-canary")
HEADERS = (("X-Token", "header-canary"),)


def request(url: str) -> Request:
    return Request("POST", f"{url}?key=query-canary", HEADERS, b"body-canary")


def everything_about(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error))
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        text += str(error) + repr(error) + repr(error.args) + repr(vars(error))
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return text


def clean(text: str) -> bool:
    return not any(canary in text for canary in CANARIES)


def test_representations() -> None:
    assert clean(repr(request("https://api.example.com/x")))
    assert repr(Request("GET", "https://api.example.com/x?q")) == (
        "Request('GET', 'api.example.com/x')"
    )
    assert repr(Request("GET", "https://u:query-canary@x/")) == "Request(<malformed>)"
    assert clean(repr(Response(200, HEADERS, b"body-canary")))
    assert clean(repr(Rig(credential=FakeCredential()).client))


@pytest.mark.parametrize("fault", list(Fault))
async def test_scripted_failures(
    fault: Fault, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    rig = Rig(
        credential=FakeCredential(hosts=("api.example.com",)),
        reply=lambda transfer: transfer.fail(fault, 35),
    )
    with pytest.raises(HttpError) as failed:
        await rig.client.send(request("https://api.example.com/x"))
    transfer = rig.transport.transfers[0]
    assert transfer.header("authorization") == f"Bearer {SECRET}"
    assert clean(everything_about(failed.value))
    assert clean(repr(rig.audit.rows) + repr(rig.context) + repr(transfer.request) + caplog.text)
    out, err = capfd.readouterr()
    assert clean(out + err)


async def test_real_failures(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    with curl() as transport:
        wire = Wire(transport, credential=FakeCredential(), bounds=Bounds(total=0.2))
        async with serve(silent) as server:
            urls = [server.url("/silent")]
            async with serve(says(b"nonsense query-canary\r\n\r\n")) as broken:
                urls.append(broken.url("/broken"))
                for url in urls:
                    with pytest.raises(HttpError) as failed:
                        await wire.client.send(request(url))
                    texts.append(everything_about(failed.value))
        with pytest.raises(HttpError) as failed:
            await wire.client.send(request(server.url("/gone")))
        texts.append(everything_about(failed.value))
        async with serve(says(answer(b"x"))) as good:
            response = await wire.client.send(request(good.url("/ok")))
            texts.append(repr(response))
            assert good.requests[0].all("authorization") == [f"Bearer {SECRET}"]
    assert len(wire.audit.rows) == 4
    assert clean("".join(texts) + repr(wire.audit.rows) + caplog.text)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
