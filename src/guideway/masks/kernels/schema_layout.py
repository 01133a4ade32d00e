"""What stands where while a JSON Schema is read (`kernels.schema_parts`), and in what it comes to.

Arrays are flat, as in `layout`. Offsets are bytes of the schema's text, which is compact ASCII.
"""

from typing import Final

# Scalars of a reading.
DRAFT: Final = 0
STRICT: Final = 1  # whether formats that nobody knows are to be refused
VALUES: Final = 2  # how much of each array is used
PARTS: Final = 3
MEMBERS: Final = 4
LETTERS: Final = 5
ASKED: Final = 6
OBJECTS: Final = 7  # how much what it comes to needs: rows of OBJECT,
EDGES: Final = 8  # of EDGE,
KEY_NODES: Final = 9  # of KEYS
SAID: Final = 10  # the keywords of the part that is read, a bit each
TYPES: Final = 11  # and its types
JUDGED: Final = 12  # how many others have to judge with what is below those,
KNOWN: Final = 13  # of how many; -1 if they have to judge all
STEPS: Final = 14  # how much of WAY is used,
WAY_ROOM: Final = 15  # and how much there is

# Addresses.
SOURCE: Final = 16  # uint8[n]: the text
VALUE: Final = 17  # int32[n, 4], see below: every value and key of it, in order
PART: Final = 18  # int32[n, 16], see below
MEMBER: Final = 19  # int32[n, 6]: the fields of NAME in `layout`, N_VALUE being a part
LETTER: Final = 20  # uint8[n]: the names, in UTF-8
ASK: Final = 21  # int32[n]: parts that somebody else has to judge
HELD: Final = 22  # int32[64]: the value of each keyword of the part that is read
DEPTH: Final = 23  # int32[n]: the values that are open
WORD: Final = 24  # int32[256, 3]: a hash table of words: offset in WORD_TEXT, length, number
WORD_TEXT: Final = 25  # uint8[n]
WAY: Final = 26  # int32[n]: the way down to each of them, one place after the other, then -1
SEARCHED: Final = 27  # the object that a reference was looked for in last, 0 if in none,
SEARCHED_OPENS: Final = 28  # whether a resource may begin there,
SEARCHED_NEXT: Final = 29  # and the key behind the one that was found last
READING_SIZE: Final = 32
WORD_ROOM: Final = 256
MOST_DEPTH: Final = 256

# Fields of VALUE.
V_BEGIN: Final = 0
V_END: Final = 1
V_NEXT: Final = 2  # the value behind this one and all that is in it
V_PART: Final = 3  # the part that it is, plus one; 0 if it is none so far

# Fields of PART.
S_KIND: Final = 0
S_TYPES: Final = 1  # those of which all values are meant, a bit each; of a LEAF, which may be
S_TARGET: Final = 2  # of a reference: the part that it stands for
S_MEMBER: Final = 3  # of an object: the first in MEMBER,
S_COUNT: Final = 4  # how many,
S_OTHER: Final = 5  # the part of all others, or ANY_PART
S_ITEM: Final = 6  # of an array: the part of its items, or ANY_PART,
S_LOW: Final = 7  # how many at least,
S_HIGH: Final = 8  # at most, or -1; characters of a TEXT; of a LEAF, where it begins and ends
S_OBJECT: Final = 9  # a row of OBJECT,
S_KEYS: Final = 10  # the first of KEYS,
S_EDGE: Final = 11  # and of EDGE, all counted from where those of the schema begin
S_VALUE: Final = 12
S_SURE: Final = 13  # whether it surely has an instance
S_LAID: Final = 14  # whether its names are those of `layout`
S_OPTIONS: Final = 15  # of a PARTED one, whether it may be an object and an array; of a GROUP,
# whether it has to be one of its parts alone; of WORDS, what else they may be
PART_FIELDS: Final = 16

ANY_PART: Final = -1
OF_OBJECT: Final = 1
OF_ARRAY: Final = 2
WORD_NULL: Final = 1
WORD_TRUE: Final = 2
WORD_FALSE: Final = 4

# Kinds of parts.
UNREAD: Final = 0
TYPED: Final = 1  # all values of some types
NOTHING: Final = 2  # no value
REFERENCE: Final = 3
PARTED: Final = 4  # objects or arrays with parts, or all values of other types
WORDS: Final = 5  # one of some strings, or null, true, false
LEAF: Final = 6  # what others read
GROUP: Final = 7  # any of some parts, which are listed like members
TEXT: Final = 8  # strings of S_LOW to S_HIGH characters

# Types.
NULL: Final = 1
BOOLEAN: Final = 2
INTEGER: Final = 4
NUMBER: Final = 8
STRING: Final = 16
ARRAY: Final = 32
OBJECT: Final = 64
ANYTHING: Final = NULL | BOOLEAN | NUMBER | STRING | ARRAY | OBJECT
TYPE_COUNT: Final = 7

# Words: keywords, of which the first ones say which values there are, and others.
W_TYPE: Final = 0
W_ENUM: Final = 1
W_CONST: Final = 2
W_PROPERTIES: Final = 3
W_REQUIRED: Final = 4
W_OTHERS: Final = 5
W_ITEMS: Final = 6
W_LEAST: Final = 7
W_MOST: Final = 8
W_SHORTEST: Final = 9
W_LONGEST: Final = 10
W_FORMAT: Final = 11
W_LOWEST: Final = 12
W_HIGHEST: Final = 13
W_ABOVE: Final = 14
W_BELOW: Final = 15
W_REFERENCE: Final = 16
W_ANY_OF: Final = 17
W_ONE_OF: Final = 18
W_ALL_OF: Final = 19
W_NOT: Final = 20
W_FURTHER: Final = 21  # any other that asserts something: without schemas,
W_SCHEMAS: Final = 22  # with one or a list,
W_NAMED: Final = 23  # with some by name
W_ASSERTED: Final = 24  # how many these are
W_RESOURCE: Final = 24  # where a resource may begin
W_DRAFT: Final = 25  # what says nothing below the root, but beside an identifier of any draft,
W_IDENTIFIER: Final = 26  # such as that of another one
W_TYPES: Final = 32  # the names of types, in the order of their bits
W_UNKNOWN: Final = -1

# What reading gives.
PLAIN: Final = 0
NOT_PLAIN: Final = -1

# The stencil: nodes, lexical states and offsets that the nodes of every schema are made with.
T_TYPES: Final = 0  # the node of all values of each type, in the order of their bits,
T_ANYTHING: Final = 7  # and of all there are
T_OPENED: Final = 8  # behind an opening bracket
T_COMMA: Final = 9
T_COLON: Final = 10
T_CLOSING: Final = 11  # the end of an object
T_LAST: Final = 12  # and of an array, with what stands before it
T_START: Final = 13  # fields of OBJECT
T_QUOTED: Final = 14
T_PLAIN: Final = 15
T_BRACKETS: Final = 16  # where "{[]truefalse" and a quote are in POOL
T_EDGE: Final = 17  # around the whole text
T_FILLED: Final = 18  # lexical states: strings that are not empty, with quotes,
T_CHARACTERS: Final = 19  # and any characters of a string
STENCIL_SIZE: Final = 20

ROOT: Final = 1 << 20  # instead of a count of items: the whole text
