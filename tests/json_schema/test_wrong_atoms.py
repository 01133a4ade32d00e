"""An atom about something else is a mistake in a formula, and never read as "cannot hold"."""

import pytest

from guideway.json_schema.arrays import ItemsTemplate
from guideway.json_schema.formulas import Longer, Required, leaf
from guideway.json_schema.lowering import Lowering
from guideway.json_schema.members import MembersTemplate
from guideway.json_schema.scalars import number, text_content
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import Spelling, json_style
from toys import unfolded

SOURCE = JsonSchema(True)
MEMBER, LENGTH = leaf(Required("a")), leaf(Longer(1))


def test_nothing_about_members_is_said_of_a_value():
    with pytest.raises(TypeError, match="says nothing about a value"):
        Lowering(SOURCE).meaning.of(MEMBER, "null")


def test_nothing_about_members_is_said_of_strings_or_numbers():
    with pytest.raises(TypeError, match="says nothing about strings"):
        text_content(MEMBER, Spelling(plain=True))
    with pytest.raises(TypeError, match="says nothing about numbers"):
        number(MEMBER, plain=True)


def test_nothing_about_members_is_said_of_items_and_the_other_way_round():
    lowering, style = Lowering(SOURCE), json_style(SOURCE)
    judge, keysets = lowering.meaning.outlines, lowering.keysets
    array = ItemsTemplate(MEMBER, lowering.value, style, judge).start()
    with pytest.raises(TypeError, match="says nothing about items"):
        unfolded(array)
    members = MembersTemplate(LENGTH, lowering.value, style, keysets, judge).start()
    with pytest.raises(TypeError, match="says nothing about members"):
        unfolded(members)
