"""The type stubs name what there is, with the same parameters."""

import ast
import inspect
import pathlib

import besom
import pytest

STUBS = ast.parse((pathlib.Path(__file__).parents[1] / "src" / "besom" / "__init__.pyi").read_text())
CLASSES = {node.name: node for node in STUBS.body if isinstance(node, ast.ClassDef)}
HELPERS = {"ArrowArray", "BoolArray", "_Guarded"}


def members(node):
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield item.name, item
        elif isinstance(item, ast.AnnAssign):
            yield item.target.id, None


def test_every_public_name_has_a_stub():
    functions = {node.name for node in STUBS.body if isinstance(node, ast.FunctionDef)}
    assert set(besom.__all__) == set(CLASSES) - HELPERS | functions


@pytest.mark.parametrize("name", sorted(set(CLASSES) - HELPERS))
def test_a_class(name):
    thing, stub = getattr(besom, name), dict(members(CLASSES[name]))
    public = {member for member in dir(thing) if not member.startswith("_")}
    if issubclass(thing, besom.Error):
        assert {base.id for base in CLASSES[name].bases} == {base.__name__ for base in thing.__bases__}
        return
    fields = set(getattr(thing, "__dataclass_fields__", ()))
    inherited = {"get", "pop", "popitem", "setdefault", "update", "clear", "items", "keys", "values"}
    named = {member for member in stub if not member.startswith("_")}
    assert (public | fields) - inherited - {"filter"} == named - inherited - {"filter"}
    for member, definition in stub.items():
        if definition and member in public and callable(getattr(thing, member)):
            check_parameters(getattr(thing, member), definition)


def check_parameters(function, definition):
    arguments = definition.args
    names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    real = [p.name for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    assert [n for n in names if n not in ("self", "cls")] == [n for n in real if n != "self"]
