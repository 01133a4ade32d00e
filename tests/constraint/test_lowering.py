"""Sources that are made of others."""

import pytest

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.language.fuel import metered
from guideway.regex import lowering as regex
from guideway.sources.sources import Source


def test_what_is_composed_means_what_it_is_spelled_out_as() -> None:
    tag = gw.tag("<a>", gw.Regex("[0-9]"), "</a>")
    assert lower_source(tag) is lower_source(tag.spelled_out)
    assert lower_source(tag) is lower_source("<a>" + gw.Regex("[0-9]") + "</a>")


@pytest.mark.parametrize(
    "source",
    [
        gw.Lark("//" + "x" * 1_000_000 + '\nstart: "a"'),
        gw.Lark('start: "a"\n' + "  # and so on\n" * 50_000),
        gw.Regex("(?#" + r"x\)" * 300_000 + ")a"),
    ],
)
def test_comments_cost_little(source: Source) -> None:
    spent = list[int]()
    with metered(spent.append):
        lower_source(source)
    assert 50_000 < sum(spent) < 150_000  # as much as they are long, once


def test_places_of_repetitions_that_nobody_asks_for_are_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = list[int]()
    monkeypatch.setattr(regex, "describe_place", lambda _, place: told.append(place))
    lower_source(gw.Regex("ab*" * 100))
    assert not told
