"""Sources that are made of others."""

import pytest

import fairlead as fl
from fairlead.lowering import regex
from fairlead.lowering.fuel import metered
from fairlead.lowering.sources import lower_source
from fairlead.syntax.sources import Source


def test_what_is_composed_means_what_it_is_spelled_out_as() -> None:
    tag = fl.tag("<a>", fl.Regex("[0-9]"), "</a>")
    assert lower_source(tag) is lower_source(tag.spelled_out)
    assert lower_source(tag) is lower_source("<a>" + fl.Regex("[0-9]") + "</a>")


@pytest.mark.parametrize(
    "source",
    [
        fl.Lark("//" + "x" * 1_000_000 + '\nstart: "a"'),
        fl.Lark('start: "a"\n' + "  # and so on\n" * 50_000),
        fl.Regex("(?#" + r"x\)" * 300_000 + ")a"),
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
    lower_source(fl.Regex("ab*" * 100))
    assert not told
