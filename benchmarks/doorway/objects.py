"""Classes whose instances refuse or lie wherever Python lets them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


def _refuses(*names: str, error: type[Exception] = RuntimeError) -> type:
    """A class whose special methods raise."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise error("secret")

    methods = dict.fromkeys(names, refuse)
    if "__eq__" in names and "__hash__" not in names:
        methods["__hash__"] = object.__hash__
    return type("Refuses" + "".join(names).replace("__", "_"), (), methods)


FloatRefuses = _refuses("__float__")
TextRefuses = _refuses("__str__", "__repr__")
TextRunsDeep = _refuses("__str__", "__repr__", error=RecursionError)
EqualRefuses = _refuses("__eq__", "__ne__")
HashRefuses = _refuses("__hash__")
LengthRefuses = _refuses("__len__", "__getitem__")
ArrayRefuses = _refuses("__array__")
TruthRefuses = _refuses("__bool__")
AttributeRefuses = _refuses("__getattribute__")
AllRefuse = _refuses(
    "__float__", "__int__", "__index__", "__str__", "__repr__", "__eq__", "__ne__", "__hash__",
    "__len__", "__iter__", "__bool__", "__lt__",
)  # fmt: skip


class LengthLies:
    """Says that it is long, and holds nothing."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> Any:
        raise IndexError


class RowLies:
    """A sequence of two that gives other items each time."""

    times = 0

    def __len__(self) -> int:
        return 2

    def __getitem__(self, place: int) -> Any:
        if place > 1:
            raise IndexError
        RowLies.times += 1
        return RowLies.times % 7


class ArrayLies:
    """Turns into an array of its own choice."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        return np.array([[1.5, 2.5]], dtype=dtype)


class EqualToAll:
    """Would take any code that a memory keyed by equality holds."""

    def __hash__(self) -> int:
        return hash(1.0)

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


class NeverItself:
    """Differs from itself, as NaN does."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True


class HasEverything:
    """Has every attribute that anybody asks for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class ClassLies:
    """Says that it is a text."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return str


class NumberLies(float):
    """A number that says that it is another one."""

    def __float__(self) -> float:
        return 7.0


class NumberRefuses(float):
    """A number that will not be one."""

    def __float__(self) -> float:
        raise RuntimeError("secret")


class WholeRefuses(int):
    """A whole number that will not be one."""

    def __int__(self) -> int:
        raise RuntimeError("secret")

    __float__ = __index__ = __int__  # type: ignore[assignment]


class TextLies(str):
    """A text whose methods speak of another one."""

    __slots__ = ()
    __hash__ = str.__hash__

    def strip(self, *_: Any) -> str:
        return "1"

    rstrip = lower = strip  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __str__(self) -> str:
        raise RuntimeError("secret")


class PlainText(str):
    """A text of a class of its own."""

    __slots__ = ()


class PlainWhole(int):
    """A whole number of a class of its own."""


class PlainNumber(float):
    """A number of a class of its own."""


class Colour(enum.Enum):
    """Members that are no numbers."""

    RED = 1


class Grade(enum.IntEnum):
    """Members that are numbers."""

    ONE = 1


class Word(enum.StrEnum):
    """Members that are texts."""

    YES = "yes"


@dataclass
class Point:
    """A record in a cell."""

    x: int = 1
