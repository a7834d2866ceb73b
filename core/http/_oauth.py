"""Access tokens: asked for when a call needs one, kept until shortly before they end.

Each round trip is a call of its own, through the same gates, with its own row. Only the
grants without a browser are here: RFC 6749, section 4.4 (client credentials) and 6
(refresh token).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from weakref import WeakValueDictionary

from core.config import OAuthEntry
from core.errors import HttpError, OAuthFailed, RequestCancelled, RequestRefused
from core.http._messages import Request
from core.http._oauth_answer import TokenAnswer
from core.http._outcomes import Ending
from core.http._rows import outlast
from core.http._url import split_url
from core.model import AuditAction, AuditEntry
from core.text import KnownSecrets
from core.vault import Credential, Secret

if TYPE_CHECKING:
    from core.http._call import Call

_log = logging.getLogger("core.http")
_ANSWER_BYTES = 64 * 1024
_STALE = (None, "invalid_grant", "invalid_token")
_HEADERS = (
    ("Content-Type", "application/x-www-form-urlencoded"),
    ("Accept", "application/json"),
)

_Key = tuple[str, OAuthEntry]


@dataclass(frozen=True, slots=True)
class _Kept:
    token: Secret
    until: float
    before: Secret | None


class TokenSource:
    """The access tokens of a client and its clones, in memory only.

    Args:
        known: learns every token, to mask it wherever it turns up.
    """

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._kept: dict[_Key, _Kept] = {}
        # One request at a time for each token: a refresh token may be good for one use.
        self._locks: WeakValueDictionary[tuple[int, _Key], asyncio.Lock] = WeakValueDictionary()

    async def token(self, call: Call, name: str, oauth: OAuthEntry) -> tuple[Secret, bool]:
        """Return a token for ``call``, and whether the token endpoint was asked for it.

        Raises:
            OAuthFailed: there is none to be had.
            SecretUnavailable: a secret that the endpoint wants could not be had.
            RequestCancelled: the call was stopped.
            AuditUnavailable: the log is down: nothing was sent.
        """
        key = (name, oauth)
        lock = self._locks.setdefault((id(asyncio.get_running_loop()), key), asyncio.Lock())
        async with lock:
            kept = self._kept.get(key)
            if kept is not None and call.wiring.clock.monotonic() < kept.until:
                return kept.token, False
            answer = await _ask(call, oauth)
            if answer.access_token is None:
                raise AssertionError("a completed token request has a token")
            # The token before this one may live a little longer; the one before that does not.
            if kept is not None and kept.before is not None:
                self._known.discard(kept.before.reveal())
            self._known.add(answer.access_token.reveal())
            lifetime = answer.lifetime_s - oauth.expiry_buffer_s
            until = call.wiring.clock.monotonic() + lifetime
            before = None if kept is None else kept.token
            self._kept[key] = _Kept(answer.access_token, until, before)
            return answer.access_token, True

    def forget(self, name: str, oauth: OAuthEntry, token: Secret) -> None:
        """Keep ``token`` no longer: a server refused it."""
        kept = self._kept.get((name, oauth))
        if kept is not None and kept.token is token:
            del self._kept[name, oauth]


async def _ask(call: Call, oauth: OAuthEntry) -> TokenAnswer:
    if oauth.grant == "client_credentials" or oauth.refresh_token is None:
        return await _round_trip(call, oauth, None, TokenAnswer())
    keeping: list[asyncio.Task[None]] = []

    def renewed(token: Secret, name: str = oauth.refresh_token) -> None:
        # Not inside what a stop of the call cancels.
        task = asyncio.get_running_loop().create_task(_keep(call, oauth, name, token))
        call.wiring.rows.hold(task)
        keeping.append(task)

    refreshed = TokenAnswer(renewed)
    try:
        await _round_trip(call, oauth, oauth.refresh_token, refreshed)
    except OAuthFailed as failed:
        if failed.status not in (400, 401) or failed.error not in _STALE:
            raise
    else:
        for task in keeping:
            await outlast(task)
        return refreshed
    refused = AuditAction.OAUTH_REFRESH_FAILED
    await _note(call, oauth, refused, refreshed.status, success=False)
    await call.fence()
    answer = await _round_trip(call, oauth, None, TokenAnswer())
    await _note(
        call, oauth, AuditAction.OAUTH_FALLBACK_CLIENT_CREDENTIALS, answer.status, success=True
    )
    return answer


async def _round_trip(
    call: Call, oauth: OAuthEntry, refresh: str | None, answer: TokenAnswer
) -> TokenAnswer:
    """Make one token request, for ``call``.

    Args:
        call: waits for it; its end is the end of this one.
        oauth: what is asked, and where.
        refresh: the refresh token's name for that grant, None for client credentials.
        answer: takes the answer.
    """
    from core.http._exchange import exchange

    fields = [
        ("grant_type", "client_credentials" if refresh is None else "refresh_token"),
        ("client_id", oauth.client_id),
        *((("scope", " ".join(oauth.scopes)),) if oauth.scopes else ()),
        *oauth.params,
    ]
    request = Request("POST", oauth.token_url, _HEADERS, urlencode(fields).encode())
    plan = replace(
        call.plan,
        credential=Credential(
            oauth.client_secret,
            "body_field",
            "client_secret",
            body_fields=() if refresh is None else (("refresh_token", refresh),),
        ),
        # The configuration names it, as it names a model's address.
        allow=(*call.plan.allow, *_host_of(oauth)),
        # The waiting call's total bound holds for both.
        bounds=replace(call.plan.bounds, total=None, body_bytes=_ANSWER_BYTES),
        answer=answer,
    )
    try:
        async with exchange(call.wiring, plan, request, None, streaming=False, outer=call) as leg:
            await leg.read_all()
    except RequestCancelled:
        raise
    except HttpError as error:
        code = error.code if error.code.startswith("oauth_") else f"oauth_{error.code}"
        what = Ending.TOKEN_REFUSED.message if answer.error else error.what
        detail = f" ({answer.error})" if answer.error else ""
        raise OAuthFailed(
            f"{what}{detail}", code=code, status=answer.status, error=answer.error
        ) from None
    return answer


def _host_of(oauth: OAuthEntry) -> tuple[str, ...]:
    try:
        url = split_url(oauth.token_url)
    except RequestRefused:
        return ()  # the gates say so in a moment
    return (f"{url.bracketed_host}:{url.port}",)


async def _keep(call: Call, oauth: OAuthEntry, name: str, token: Secret) -> None:
    """Store the refresh token that replaces the one just used up."""
    secrets = call.wiring.secrets
    try:
        if secrets is not None:
            await secrets.rotate(name, token.reveal(), actor=call.plan.context.actor)
    except Exception as error:
        # The access token is good: the call goes on, and the loss is on record.
        _log.error("A new refresh token was not stored: %s", type(error).__name__)
        await _note(call, oauth, AuditAction.OAUTH_REFRESH_STORE_FAILED, 0, success=False)


async def _note(
    call: Call, oauth: OAuthEntry, action: AuditAction, status: int, *, success: bool
) -> None:
    url, context = split_url(oauth.token_url), call.plan.context
    entry = AuditEntry(
        at_us=call.wiring.clock.now_us(),
        action=action,
        success=success,
        status=status,
        host=url.host,
        path=url.path,
        credential=oauth.refresh_token,
        run_id=context.run_id,
        step=context.step,
        actor=context.actor,
    )
    await call.wiring.rows.write(entry)
