"""What secrets look like: one catalogue of patterns, all of them linear in the text."""

from __future__ import annotations

import base64
import binascii
import re

_FLAGS = re.ASCII | re.IGNORECASE

# A quoted value in code or JSON, or the same inside a JSON string (its quotes escaped).
# An unterminated one ends with its line.
_QUOTED = (
    r'(?:"(?:[^"\\\r\n]|\\.)*+"?'
    r"|'(?:[^'\\\r\n]|\\.)*+'?"
    r"|`[^`\r\n]*+`?"
    r'|\\"(?:[^"\\\r\n]|\\\\\\"|\\\\.|\\[^"\\])*+(?:\\")?)'
)
# Up to white space or a quote. A separator belongs to the value unless another pair, or
# nothing, follows it: passwords hold them, and so do lists of pairs.
_BARE = (
    r"(?:[^\s\"'`<>,;&\\]|\\(?!\\{0,6}[\"'`])"
    r"|[,;&](?![\s\"'`<>,;&]|$|[\w.%\[\]-]{1,64}+[=:]))++"
)
# Up to the end of a line, or of the quotes it stands in.
_REST = r"(?:[^\"'`\r\n\\]|\\(?!\\{0,6}[\"'`]))*+"
_LITERAL = (
    r"(?:(?:true|false|null|none|nil|undefined)(?=[\s,;&)}\]\"'`<>]|$)"
    r"|[\[\]{}()]++(?=[\s\"'`<>,;&]|$))"
)
_AFTER_NAME = r"[\"'`*\]\\]{0,4}[ \t]{0,16}+"
_NAME = (
    r"(?=[aejmpst_])"  # a quick no at most places
    r"(?:(?:api|access|account|private|signing|encryption|master|auth|subscription)[_-]?key"
    r"|secret|passw(?:or)?d|passphrase|(?<![a-z])pwd(?!['\"]?[ \t]{0,4}[=:][ \t]{0,4}/)"
    r"|token|jwt|session[_-]?id|_auth)"
    r"(?:[_-]?(?:value|key|id|text|plain|hash|b64|base64|[0-9]{1,3}))?+"
)
NAME_NEEDLES = ("key", "secret", "passw", "passphrase", "pwd", "token", "jwt", "session", "_auth")

PEM_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----")
# A private key that was cut off before its end line.
PEM_BODY = re.compile(
    r"((?:\s|\\[nr])*+)[A-Za-z0-9+/=]{16,}+(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]{16,}+)*+"
)

# A password may hold what should have been escaped; only "/" surely ends it.
USERINFO = re.compile(r"(?<=://)(?=[^@])(?:[^/\s?#\"'<>:]*+:[^/\s\"'<>]*|[^/\s?#\"'<>:]*)(?=@)")

HEADER = re.compile(
    r"((?<![a-z0-9])(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{0,24}(?:api-key|token))"
    rf"(?:{_AFTER_NAME}(?:=>|[=:])[ \t]{{0,16}}+(?:b(?=[\"']))?"
    r"|[\"'\\]{1,2}[ \t]{0,4},[ \t]{0,4}b?(?=[\"'\\])))"
    rf"({_QUOTED}|(?=[^\s\"'`\\]){_REST}(?:(?<==)\"[^\"\r\n]*+\"{_REST})*+)",
    _FLAGS,
)
HEADER_NEEDLES = ("authorization", "cookie", "api-key", "token")
# After the schemes of group 1 one word is the whole credential.
SCHEME = re.compile(
    r"(?:(bearer|basic|negotiate|ntlm|token|apikey)|digest|aws4-hmac-sha256)[ \t]++(?=\S)", _FLAGS
)
ONE_WORD = re.compile(r"[^\s,;]++")

PAIR = re.compile(
    rf"({_NAME}{_AFTER_NAME}(?:=>|:=|==?|:|%3D)"
    r"(?:\s{0,64}+(?=[\"'`\\]|[bru]{1,2}[\"'])|[ \t]{0,64}+)(?:[bru]{1,2}(?=[\"']))?)"
    rf"(?!{_LITERAL})({_QUOTED}|{_BARE})",
    _FLAGS,
)
ELEMENT = re.compile(rf"({_NAME}>)[^<>]++(?=</)", _FLAGS)
OPTION = re.compile(
    rf"((?<![\w-])--(?=[a-z])[a-z-]{{0,24}}?{_NAME}[ \t]++)(?![-\s])({_QUOTED}|{_BARE})", _FLAGS
)
QUERY = re.compile(
    r"([?&;](?:key|sig|auth|assertion|[a-z-]{0,24}signature|x-(?:amz|goog)-credential"
    r"|code(?==[^\s&\"'<>#]{12}))=)[^\s&\"'<>#]++",
    _FLAGS,
)
QUERY_NEEDLES = ("key=", "sig=", "auth=", "assertion=", "signature=", "credential=", "code=")
WEBHOOK = re.compile(r"(hooks\.slack\.com/(?:services|workflows)/)[a-z0-9/_-]++", _FLAGS)

# Without its header's name a scheme is also a word: what follows must look like a token.
BEARER = re.compile(
    r"(\bbearer[ \t]++)(?:(?=[a-z]*+[0-9._~+/=-])[a-z0-9._~+/=-]{6,}+|[a-z]{16,}+)", _FLAGS
)
BASIC = re.compile(r"(\bbasic[ \t]++)([a-z0-9+/_-]{4,}+={0,2}+)", _FLAGS)

# Formats whose prefix or layout says what they are.
TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?=[A-Za-z0-9_-]{16}|[a-z_-]{0,40}[A-Z0-9])[A-Za-z0-9_-]{8,}+"
    r"|[prs]k_(?:live|test)_[A-Za-z0-9]{8,}+|whsec_[A-Za-z0-9+/=]{16,}+"
    r"|gh[oprsu]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{20,}+|glpat-[A-Za-z0-9_-]{16,}+"
    r"|xox[a-z]-(?=[A-Za-z-]{0,12}[0-9])[A-Za-z0-9-]{8,}+|xapp-[A-Za-z0-9-]{8,}+"
    r"|A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16,}+|AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{16,}+"
    r"|(?:npm|hf|gsk|r8|dop_v1|shpat|shpss|lin_api|figd|pul|sbp)_[A-Za-z0-9_-]{20,}+"
    r"|(?:xai|pplx|pypi)-[A-Za-z0-9_-]{20,}+"
    r"|SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+|hv[bs]\.[A-Za-z0-9_-]{20,}+"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{20,}+|[0-9]{6,12}+:AA[A-Za-z0-9_-]{30,}+"
    r"|(?<![_-])eyJ[A-Za-z0-9_-]{4,}+\.[A-Za-z0-9_-]{4,}+(?:\.[A-Za-z0-9_-]*+){0,3}"
    r")[A-Za-z0-9_-]*+"
)
TOKEN_NEEDLES = (
    "sk-", "k_live_", "k_test_", "whsec_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_",
    "github_pat_", "glpat-", "xox", "xapp-", "akia", "asia", "abia", "acca", "aiza", "ya29.",
    "npm_", "hf_", "gsk_", "r8_", "dop_v1_", "shpat_", "shpss_", "lin_api_", "figd_", "pul_",
    "sbp_", "xai-", "pplx-", "pypi-", "sg.", "hvb.", "hvs.", "age-secret-key-1", ":aa", "eyj",
)  # fmt: skip


def is_basic(word: str) -> bool:
    """Return whether ``word`` is a user and a password as RFC 7617 sends them."""
    text = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        return ":" in decoded.decode("utf-8")
    except (binascii.Error, ValueError):
        return False
