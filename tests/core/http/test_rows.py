from __future__ import annotations

import pytest

from core.errors import (
    HttpError,
    RequestRefused,
    SecretUnavailable,
    TransportFailed,
    UsageError,
)
from core.http import Bounds, CallContext, Fault, Request, VaultHttpClient
from core.model import AuditAction
from tests.core.http.rig import ADDRESS, SECRET, URL, Rig
from tests.fakes.http_ports import FakeCredential
from tests.fakes.transport import ScriptedTransfer

GET = Request("GET", URL)


async def test_a_whole_answer_of_any_status_is_a_success() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(503, b"busy", Retry_After="3"))
    response = await rig.client.send(GET)
    assert (response.status, response.body) == (503, b"busy")
    assert response.header("retry-after") == "3"
    row = rig.audit.only
    assert (row.action, row.success, row.status) == (AuditAction.HTTP_CALL, True, 503)
    assert (row.method, row.host, row.path) == ("GET", "api.example.com", "/v1/things")
    assert (row.actor, row.run_id, row.step) == ("tester", "run-9", "s3")
    assert (row.call_id, row.credential, row.message) == ("call-1", None, None)


async def test_the_context_knows_calls_as_they_start_and_as_they_end() -> None:
    rig = Rig(credential=FakeCredential())
    task = rig.begin(GET)
    transfer = await rig.transport.next()
    assert rig.context.started == ["call-1"]
    assert rig.context.calls == []
    transfer.answer(200)
    assert [call.action for call in rig.context.calls] == [AuditAction.HTTP_CALL]
    await task
    (record,) = rig.context.calls
    assert (record.call_id, record.credential, record.exposed) == ("call-1", "key", False)


async def test_calls_outside_of_a_step_are_not_collected() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200))
    context = CallContext(actor="program")
    await rig.client.with_context(context).send(GET)
    assert (context.started, context.calls) == ([], [])
    assert rig.audit.only.actor == "program"


async def test_bearer_and_header_placements() -> None:
    rig = Rig(credential=FakeCredential(), reply=lambda transfer: transfer.answer(200))
    await rig.client.send(Request("GET", URL, (("Accept", "text/plain"),)))
    other = rig.client.with_credential(FakeCredential(placement="header", field="X-Token"))
    await other.send(GET)
    first, second = rig.transport.transfers
    assert first.header("authorization") == f"Bearer {SECRET}"
    assert first.header("accept") == "text/plain"
    assert second.header("x-token") == SECRET
    assert second.header("authorization") is None
    assert [row.credential for row in rig.audit.rows] == ["key", "key"]


async def test_a_call_without_a_credential_reads_no_secret() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(204))
    await rig.client.send(Request("GET", URL, (("Authorization", "Basic mine"),)))
    assert rig.vault.reads == []
    assert rig.transport.transfers[0].header("authorization") == "Basic mine"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Request("GET", "ftp://api.example.com/"), "scheme_not_allowed"),
        (Request("GET", "http://api.example.com/"), "scheme_not_allowed"),
        (Request("GET", "https://user@api.example.com/"), "url_invalid"),
        (Request("GET", "https://10.0.0.1/"), "address_not_allowed"),
        (Request("GET", "https://nowhere.example.com/"), "host_unresolved"),
        (Request("BREW", URL), "method_invalid"),
        (Request("get", URL), "method_invalid"),
        (Request("CONNECT", URL), "method_invalid"),
        (Request("GET\r\nX: y", URL), "method_invalid"),
        (Request("GET", URL, (("X-A", "a\r\nX-B: b"),)), "header_invalid"),
        (Request("GET", URL, (("X-A\r\n", "a"),)), "header_invalid"),
        (Request("GET", URL, (("", "a"),)), "header_invalid"),
        (Request("GET", URL, (("X A", "a"),)), "header_invalid"),
        (Request("GET", URL, (("X-A", "é"),)), "header_invalid"),
        (Request("GET", URL, (("Host", "evil.example"),)), "header_reserved"),
        (Request("GET", URL, (("transfer-encoding", "chunked"),)), "header_reserved"),
        (Request("GET", URL, (("authorization", "Bearer x"),)), "credential_conflict"),
    ],
)
async def test_a_refused_call_has_one_failed_row_and_reads_no_secret(
    request_: Request, code: str
) -> None:
    rig = Rig(credential=FakeCredential())
    with pytest.raises(RequestRefused) as refused:
        await rig.client.send(request_)
    assert refused.value.code == code
    row = rig.audit.only
    assert (row.action, row.success, row.status) == (AuditAction.HTTP_CALL, False, 0)
    assert row.message == str(refused.value)
    assert row.message is not None
    assert row.message.startswith("Refused before any secret was read")
    assert (rig.vault.reads, rig.transport.transfers) == ([], [])
    assert rig.clock.pending == 0


@pytest.mark.parametrize("where", ["name", "value"])
@pytest.mark.parametrize("code_point", [*range(9), *range(10, 32), 127, 128, 0x2028])
async def test_no_control_character_reaches_a_header(where: str, code_point: int) -> None:
    rig = Rig()
    odd = f"a{chr(code_point)}b"
    pair = (odd, "v") if where == "name" else ("X-A", odd)
    with pytest.raises(RequestRefused):
        await rig.client.send(Request("GET", URL, (pair,)))
    assert rig.transport.transfers == []


async def test_the_row_of_an_unparsed_request_holds_none_of_its_text() -> None:
    rig = Rig()
    with pytest.raises(RequestRefused):
        await rig.client.send(Request("EVIL\n", "https://a b/canary"))
    row = rig.audit.only
    assert (row.method, row.host, row.path) == (None, None, None)


@pytest.mark.parametrize(
    ("allow", "hosts", "url", "code"),
    [
        (("other.example",), (), URL, "host_not_allowed"),
        (("*.example.com",), (), URL, None),
        ((), ("other.example",), URL, "host_not_allowed"),
        (("api.example.com",), ("other.example",), URL, "credential_host_not_allowed"),
        (("other.example",), ("api.example.com",), URL, None),
        (("other.example",), ("*.example.com",), URL, None),
        ((), ("api.example.com:444",), URL, "host_not_allowed"),
        ((), ("127.0.0.1:8080",), "http://127.0.0.1:8080/", None),
        ((), ("127.0.0.1:8080",), "http://127.0.0.1:8081/", "host_not_allowed"),
    ],
)
async def test_a_credential_goes_only_to_its_hosts(
    allow: tuple[str, ...], hosts: tuple[str, ...], url: str, code: str | None
) -> None:
    rig = Rig(
        credential=FakeCredential(hosts=hosts),
        allow=allow,
        reply=lambda transfer: transfer.answer(200),
    )
    if code is None:
        assert (await rig.client.send(Request("GET", url))).status == 200
        return
    with pytest.raises(RequestRefused) as refused:
        await rig.client.send(Request("GET", url))
    assert refused.value.code == code
    assert rig.vault.reads == []


@pytest.mark.parametrize(
    ("answer", "allow", "code"),
    [
        ((ADDRESS, "127.0.0.1"), (), "address_not_allowed"),
        (("169.254.169.254",), ("api.example.com",), "address_not_allowed"),
        (("64:ff9b::a9fe:a9fe",), ("api.example.com",), "address_not_allowed"),
        (("not-an-ip",), (), "host_unresolved"),
        ((), (), "host_unresolved"),
        (("10.0.0.1",), ("*.example.com",), "address_not_allowed"),
        (("10.0.0.1",), ("api.example.com",), None),
        (("::ffff:8.8.8.8", "2606:4700:0:0::1111"), (), None),
    ],
)
async def test_every_resolved_address_is_vetted(
    answer: tuple[str, ...], allow: tuple[str, ...], code: str | None
) -> None:
    rig = Rig(allow=allow, reply=lambda transfer: transfer.answer(200))
    rig.resolver.answers["api.example.com"] = answer
    if code is None:
        await rig.client.send(GET)
        assert len(rig.transport.transfers[0].pin.addresses) == len(answer)
        return
    with pytest.raises(RequestRefused) as refused:
        await rig.client.send(GET)
    assert refused.value.code == code
    assert rig.transport.transfers == []


async def test_each_call_vets_anew() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200))
    await rig.client.send(GET)
    rig.resolver.answers["api.example.com"] = ("127.0.0.1",)
    with pytest.raises(RequestRefused):
        await rig.client.send(GET)
    assert len(rig.transport.transfers) == 1


async def test_the_pin_differs_with_addresses_credential_and_freedom() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200))
    await rig.client.send(GET)
    await rig.client.send(GET)
    await rig.client.with_credential(FakeCredential()).send(GET)
    await rig.client.with_allow(("api.example.com",)).send(GET)
    rig.resolver.answers["api.example.com"] = ("93.184.216.35",)
    await rig.client.send(GET)
    labels = [transfer.pin.label for transfer in rig.transport.transfers]
    assert labels[0] == labels[1]
    assert len(set(labels)) == 4
    assert all(label.endswith(".invalid") and len(label) < 64 for label in labels)


@pytest.mark.parametrize("secret", ["", "a\r\nX-Evil: 1", "é"])
async def test_a_secret_that_cannot_stand_in_a_header_is_not_sent(secret: str) -> None:
    rig = Rig(credential=FakeCredential(name="odd"))
    rig.vault._values["odd"] = secret
    with pytest.raises(SecretUnavailable) as unavailable:
        await rig.client.send(GET)
    assert "Evil" not in str(unavailable.value)
    assert rig.audit.only.message == "The secret was not available; nothing was sent"
    assert rig.transport.transfers == []


async def test_a_missing_secret_leaves_a_row_and_the_vaults_own_exception() -> None:
    rig = Rig(credential=FakeCredential(name="absent"))
    with pytest.raises(SecretUnavailable) as unavailable:
        await rig.client.send(GET)
    assert unavailable.value.where == "absent"
    row = rig.audit.only
    assert (row.action, row.success, row.credential) == (AuditAction.HTTP_CALL, False, "absent")


async def test_foreign_exceptions_pass_as_the_same_object() -> None:
    mine = RuntimeError("https://api.example.com/?canary")
    rig = Rig(credential=FakeCredential())
    rig.transport.refuse_with = mine
    with pytest.raises(RuntimeError) as caught:
        await rig.client.send(GET)
    assert caught.value is mine
    assert rig.audit.only.message == "The transport could not start; nothing was sent"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault.CONNECT, "connect_failed"),
        (Fault.TLS, "tls_failed"),
        (Fault.CERTIFICATE, "certificate_invalid"),
        (Fault.LOST, "connection_lost"),
        (Fault.PROTOCOL, "protocol_error"),
        (Fault.PIN, "pin_violated"),
        (Fault.TIMEOUT, "transport_timeout"),
        (Fault.OTHER, "transport_failed"),
    ],
)
async def test_a_transport_fault_is_a_failed_row_with_a_fixed_literal(
    fault: Fault, code: str
) -> None:
    rig = Rig(credential=FakeCredential(), reply=lambda transfer: transfer.fail(fault, 99))
    with pytest.raises(TransportFailed) as failed:
        await rig.client.send(GET)
    assert (failed.value.code, failed.value.number) == (code, 99)
    row = rig.audit.only
    assert (row.action, row.success, row.status) == (AuditAction.HTTP_CALL, False, 0)
    assert str(failed.value) == f"{row.message} (error 99)"


async def test_a_body_that_is_cut_keeps_the_heads_status_in_its_row() -> None:
    def cut(transfer: ScriptedTransfer) -> None:
        transfer.head(200)
        transfer.data(b"half")
        transfer.fail(Fault.LOST, 18)

    rig = Rig(reply=cut)
    with pytest.raises(TransportFailed):
        await rig.client.send(GET)
    assert (rig.audit.only.success, rig.audit.only.status) == (False, 200)


async def test_an_end_without_a_head_is_no_answer() -> None:
    rig = Rig(reply=lambda transfer: transfer.done())
    with pytest.raises(TransportFailed) as failed:
        await rig.client.send(GET)
    assert failed.value.code == "protocol_error"


async def test_an_answer_over_the_limit_is_aborted_and_failed() -> None:
    rig = Rig(bounds=Bounds(body_bytes=10))
    task = rig.begin(GET)
    transfer = await rig.transport.next()
    transfer.head(200)
    transfer.data(b"12345")
    transfer.data(b"67890")
    assert not transfer.aborted
    transfer.data(b"!")
    assert transfer.aborted
    with pytest.raises(HttpError) as failed:
        await task
    assert failed.value.code == "response_too_large"
    assert (rig.audit.only.action, rig.audit.only.success) == (AuditAction.HTTP_CALL, False)


async def test_clones_share_transport_and_audit_and_leave_the_original_alone() -> None:
    rig = Rig(reply=lambda transfer: transfer.answer(200))
    clone = rig.client.with_credential(FakeCredential()).with_timeout(5)
    assert isinstance(clone, VaultHttpClient)
    assert clone.supports_cancellation
    await clone.send(GET)
    await rig.client.send(GET)
    assert [row.credential for row in rig.audit.rows] == ["key", None]
    assert rig.transport.transfers[0].belt.total_ms == 6_000
    assert rig.transport.transfers[1].belt.total_ms == 601_000


async def test_a_credential_needs_a_vault() -> None:
    rig = Rig()
    with pytest.raises(UsageError):
        VaultHttpClient(
            transport=rig.transport,
            resolver=rig.resolver,
            policy=rig.client._wiring.policy,
            audit=rig.audit,
            clock=rig.clock,
            ids=rig.client._wiring.ids,
            credential=FakeCredential(),
        )


async def test_a_burst_of_calls_leaves_one_row_each() -> None:
    import asyncio

    rig = Rig(reply=lambda transfer: transfer.answer(200, b"x"))
    await asyncio.gather(*(rig.client.send(GET) for _ in range(50)))
    assert len({row.call_id for row in rig.audit.rows}) == len(rig.audit.rows) == 50
