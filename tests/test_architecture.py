"""Who may import whom: the line that data follows has one direction."""

import ast
from pathlib import Path

import pytest

import dptransfer

ROOT = Path(dptransfer.__file__).parent
ALLOWED = {
    "numerics": set(),
    "models": {"numerics"},
    "privacy": set(),
    "data": set(),
    "transfer": {"numerics", "models", "privacy"},
    "experiments": {"numerics", "models", "privacy", "transfer", "data", "report"},
    "report": {"numerics", "models", "privacy", "transfer", "data"},
    "cli": {"numerics", "models", "privacy", "transfer", "data", "experiments", "report"},
}


def rooms_imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports name the whole path"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            room = rest.split(".")[0]
            if package != "dptransfer" or room in {"", "errors", "progress", "__version__"}:
                continue
            # a name that the package itself gives out comes from the models
            yield room if (ROOT / room).is_dir() else "models"


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_lies_before_it(room):
    for path in (ROOT / room).rglob("*.py"):
        assert set(rooms_imported(path)) <= ALLOWED[room] | {room}, path


def test_every_room_has_a_rule():
    rooms = {path.parent.name for path in ROOT.glob("*/*.py")}
    assert rooms <= set(ALLOWED)
