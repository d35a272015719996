"""A module as its syntax tree: what its statements bind, use and import. Nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

#: Name of a part that is a whole module, and of one that runs whenever the module is imported.
WHOLE, ALWAYS = "*", ""
_Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Import = ast.Import | ast.ImportFrom


def essence(node: object) -> str:
    """A tree as text, without docstrings; alike in versions of Python that have further fields."""
    if isinstance(node, ast.AST):
        fields = ((name, getattr(node, name, None)) for name in node._fields if name != "kind")
        told = (f"{name}={essence(value)}" for name, value in fields if value not in (None, []))
        return f"{type(node).__name__}({','.join(told)})"
    if isinstance(node, list):
        return f"[{','.join(essence(one) for one in node if not is_text(one))}]"
    return repr(node)


def is_text(node: object) -> bool:
    """Whether a statement is a text alone, as a docstring is."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def runs(node: ast.AST) -> bool:
    """Whether it runs on import: it is not for type checkers alone, nor for the command line."""
    if not isinstance(node, ast.If):
        return True
    test = ast.unparse(node.test)
    return "TYPE_CHECKING" not in test and not test.startswith("__name__ ==")


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a tree that can run; annotations of functions are kept as texts."""
    yield node
    if isinstance(node, ast.arg):
        return
    for child in ast.iter_child_nodes(node):
        if runs(child) and child is not getattr(node, "returns", None):
            yield from walk(child)


def imports_of(node: ast.AST) -> dict[str, str]:
    """Names that are bound by importing, each with the dotted name of what it stands for."""
    found: dict[str, str] = {}
    for one in walk(node):
        if isinstance(one, ast.ImportFrom):
            if one.level or any(alias.name == "*" for alias in one.names):
                raise SyntaxError(f"only absolute imports of names are read: {ast.unparse(one)}")
            found |= {a.asname or a.name: f"{one.module}.{a.name}" for a in one.names}
        elif isinstance(one, ast.Import):
            first = {a.name.partition(".")[0] for a in one.names if not a.asname}
            found |= {name: name for name in first}
            found |= {a.asname: a.name for a in one.names if a.asname}
    return found


def paths_of(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """Names that are used, each with the attributes that are taken of it."""
    inner: set[int] = set()
    for one in walk(node):
        if id(one) in inner or not isinstance(one, ast.Attribute | ast.Name):
            continue
        taken: list[str] = []
        place: ast.expr = one
        while isinstance(place, ast.Attribute):
            taken.append(place.attr)
            place = place.value
            inner.add(id(place))
        if isinstance(place, ast.Name):
            yield (place.id, *reversed(taken))


def changed_by(target: ast.expr) -> Iterator[str]:
    """Names that an assignment binds or changes: ``a`` of ``a``, ``a.b`` and ``a[b]``."""
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from changed_by(one)
        return
    while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
        target = target.value
    if isinstance(target, ast.Name):
        yield target.id


def bound_within(statement: ast.stmt) -> Iterator[str]:
    """Names that a compound statement binds, such as those of an import that is tried."""
    for one in walk(statement):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, _Definition):
            yield one.name
    yield from imports_of(statement)


class Module:
    """Statements by the names that they bind or change, and what the top of the module imports.

    A statement that is neither a definition nor an assignment runs on every import, so it is found
    under `ALWAYS`; so is one that changes what another module made.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.tree = ast.parse(text)
        body = [one for one in self.tree.body if runs(one)]
        imports = [one for one in body if isinstance(one, _Import)]
        self.imports = {name: home for one in imports for name, home in imports_of(one).items()}
        self.statements: dict[str, list[ast.stmt]] = {ALWAYS: [], WHOLE: body}
        for statement in body:
            if not isinstance(statement, _Import):
                for bound in self._bound(statement):
                    self.statements.setdefault(bound, []).append(statement)

    def _bound(self, statement: ast.stmt) -> set[str]:
        if isinstance(statement, _Definition):
            return {statement.name}
        if not isinstance(statement, _Assignment):
            return {ALWAYS, *bound_within(statement)}
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        roots = {name for target in targets for name in changed_by(target)}
        return {ALWAYS if root in self.imports else root for root in roots} or {ALWAYS}

    @cached_property
    def homes(self) -> dict[str, str] | None:
        """Where its names live, of a module that loads them when they are used; else None."""
        if "__getattr__" not in self.statements:
            return None
        hidden = [part for one in self.tree.body if not runs(one) for part in one.body]  # type: ignore[attr-defined]
        return {name: home for one in hidden for name, home in imports_of(one).items()}

    @cached_property
    def texts(self) -> set[str]:
        """Its texts, where modules are imported by name; else none."""
        words = {word for path in paths_of(self.tree) for word in path}
        if not words & {"import_module", "__import__", "lazy_names"}:
            return set()
        found = (one.value for one in ast.walk(self.tree) if isinstance(one, ast.Constant))
        return {text for text in found if isinstance(text, str)}
