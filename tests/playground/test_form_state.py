from __future__ import annotations

from dataclasses import replace

import pytest

from core.model import RunRequest
from playground.state.form import FormData, FormError, build_request, form_of, options_gist

_FORM = FormData(prompt="Hello", model="demo")


def test_an_untouched_form_asks_for_the_defaults() -> None:
    assert build_request(_FORM) == RunRequest(prompt="Hello", model="demo")


def test_every_field_reaches_the_request() -> None:
    form = FormData(
        prompt=" two\nlines ",
        model="m",
        tools=("get_weather",),
        system=" be brief ",
        max_rounds="3",
        max_tokens="500",
        temperature="0.5",
        thinking="off",
        dry_run=True,
        raw=True,
    )
    assert build_request(form) == RunRequest(
        prompt=" two\nlines ",
        model="m",
        tools=("get_weather",),
        system="be brief",
        max_rounds=3,
        max_tokens=500,
        temperature=0.5,
        thinking=False,
        dry_run=True,
        raw=True,
    )


@pytest.mark.parametrize(
    ("field", "form"),
    [
        ("prompt", replace(_FORM, prompt=" \n ")),
        ("model", replace(_FORM, model="")),
        ("max-rounds", replace(_FORM, max_rounds="0")),
        ("max-rounds", replace(_FORM, max_rounds="ten")),
        ("max-tokens", replace(_FORM, max_tokens="-5")),
        ("temperature", replace(_FORM, temperature="2.1")),
        ("temperature", replace(_FORM, temperature="nan")),
        ("temperature", replace(_FORM, temperature="warm")),
    ],
)
def test_what_cannot_be_run_names_its_field(field: str, form: FormData) -> None:
    with pytest.raises(FormError) as raised:
        build_request(form)
    assert raised.value.field == field
    assert raised.value.hint


@pytest.mark.parametrize(
    "request_",
    [
        RunRequest(prompt="Hello", model="demo"),
        RunRequest(prompt="Hello", model="gone", tools=(), thinking=True, max_rounds=3),
        RunRequest(
            prompt="Hello",
            tools=("get_weather",),
            system="be brief",
            max_tokens=500,
            temperature=0.0,
            thinking=False,
            dry_run=True,
            raw=True,
        ),
    ],
)
def test_the_form_of_a_run_asks_for_what_the_run_was_asked(request_: RunRequest) -> None:
    assert build_request(form_of(request_.to_json())) == request_


def test_the_form_of_a_run_names_only_what_differs_from_the_defaults() -> None:
    assert form_of(RunRequest(prompt="Hello", model="demo").to_json()) == _FORM


def test_the_button_says_what_differs_from_the_defaults() -> None:
    assert options_gist(_FORM, 3) == "3 tools"
    changed = replace(_FORM, tools=(), max_rounds="2", thinking="on", system="x", raw=True)
    assert options_gist(changed, 3) == "0 tools · rounds 2 · thinking on · system · raw"
