from typing import NamedTuple


class Difference(NamedTuple):
    pattern: str


DIFFERENCES = []
