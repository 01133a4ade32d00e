"""Sources that are made of others."""

import fairlead as fl
from fairlead.lowering.sources import lower_source


def test_what_is_composed_means_what_it_is_spelled_out_as() -> None:
    tag = fl.tag("<a>", fl.Regex("[0-9]"), "</a>")
    assert lower_source(tag) is lower_source(tag.spelled_out)
    assert lower_source(tag) is lower_source("<a>" + fl.Regex("[0-9]") + "</a>")
