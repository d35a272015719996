"""OwnNames: a pydantic model whose tab completion offers its own names, and none of pydantic's.

What is left out can still be called; it is only not offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

_Metaclass: Any = type(BaseModel)


def _own(kind: type, names: Iterable[str]) -> list[str]:
    """Names without those that only pydantic's classes bring; fields of the model stay."""
    bases = [base for base in kind.__mro__ if base.__module__.partition(".")[0] == "pydantic"]
    foreign = {name for base in (*bases, _Metaclass) for name in vars(base)}
    fields = set(getattr(kind, "__pydantic_fields__", ()))
    return sorted(
        name for name in names if name.startswith("__") or name in fields or name not in foreign
    )


class _Names(_Metaclass):
    """Metaclass, since a class is completed too: ``Domain.<tab>``."""

    def __dir__(cls: Any) -> list[str]:
        return _own(cls, type.__dir__(cls))


if TYPE_CHECKING:
    # Type checkers know pydantic's metaclass by name alone.
    _Base = BaseModel
else:

    class _Base(BaseModel, metaclass=_Names):
        pass


class OwnNames(_Base):
    """Base of models that people meet."""

    def __dir__(self) -> Iterable[str]:
        return _own(type(self), super().__dir__())


def set_fields(model: BaseModel) -> Iterator[tuple[str, Any]]:
    """Yield the fields that differ from their defaults, so that a model prints briefly."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if value != field.default:
            yield name, value
