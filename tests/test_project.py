"""The project's own structure: which file may import which, that the front starts without JAX, and names."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Each part of tracejit may import what stands on its own line or above; what is not named here is the last line.
LAYERS = [
    {
        "locations",
        "dtypes",
        "errors",
        "bridge",
        "bounded",
    },  # bridge imports nothing but lowering, when that is first needed
    {"ir", "printer", "parser", "verifier", "mlir"},
    {"policies", "ops", "ambient"},
    {"passes"},
    {"tracer"},
    {"storage", "tensor", "parameter", "commit", "placing"},
    {"dispatch", "eager", "indexing"},
]
LOWERING_MAY_IMPORT = {"tracejit.ir", "tracejit.dtypes", "tracejit.errors", "tracejit.locations"}


class Import(NamedTuple):
    """One imported name: the module it is in, its full path, and where and how it was imported."""

    module: str
    name: str
    line: int
    lazy: bool  # inside a function
    typing_only: bool  # under `if TYPE_CHECKING:`


def imports_of(source: str) -> list[Import]:
    """List what a file imports, wherever in it."""
    return list(_walk(ast.parse(source), lazy=False, typing_only=False))


def _walk(node: ast.AST, lazy: bool, typing_only: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, alias.name, node.lineno, lazy, typing_only)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: relative import"
        for alias in node.names:
            yield Import(node.module or "", f"{node.module}.{alias.name}", node.lineno, lazy, typing_only)
    elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        for child in node.body:
            yield from _walk(child, lazy, True)
        for child in node.orelse:
            yield from _walk(child, lazy, typing_only)
    else:
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from _walk(child, lazy, typing_only)


def modules(package: str) -> dict[str, Path]:
    """Map the dotted names of a package's modules to their files."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def layer(module: str) -> int:
    """Give the place of a tracejit module in LAYERS."""
    part = module.partition(".")[2].partition(".")[0]
    return next((i for i, names in enumerate(LAYERS) if part in names), len(LAYERS))


def target(imported: Import, known: dict[str, Path]) -> str:
    """Name the module that an import loads: `from package import module` loads the module."""
    return imported.name if imported.name in known else imported.module


def is_of(package: str, name: str) -> bool:
    """Say whether a dotted name is the package or inside it."""
    return name == package or name.startswith(package + ".")


def upward_arrows(module: str, source: str, known: dict[str, Path]) -> list[str]:
    """List a tracejit module's imports of modules above its layer."""
    arrows = []
    for imported in imports_of(source):
        to = target(imported, known)
        if is_of("tracejit", to) and layer(to) > layer(module) and not imported.typing_only:
            arrows.append(f"{module}, line {imported.line}: imports {to}")
    return arrows


def run_python(code: str) -> str:
    """Run code in a new interpreter in the project's folder and give what it printed."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


TRACEJIT = modules("tracejit")
LOWERING = modules("lowering")
LOADED_JAX = "import sys; print(sorted(m for m in sys.modules if m.partition('.')[0] in ('jax', 'jaxlib', 'lowering')))"


def test_importing_tracejit_loads_no_jax():
    assert run_python(f"import tracejit; {LOADED_JAX}") == "[]"


def test_the_check_for_jax_can_fail():
    assert "'jax'" in run_python(f"import tracejit, jax; {LOADED_JAX}")


@pytest.mark.parametrize("module", TRACEJIT)
def test_the_front_imports_no_jax(module: str):
    for imported in imports_of(TRACEJIT[module].read_text()):
        assert imported.module.partition(".")[0] not in ("jax", "jaxlib"), f"line {imported.line}: jax"
        eager = not imported.lazy and not imported.typing_only
        assert not (is_of("lowering", imported.module) and eager), f"line {imported.line}: lowering, not in a function"


@pytest.mark.parametrize("module", LOWERING)
def test_lowering_imports_only_the_foundations(module: str):
    for imported in imports_of(LOWERING[module].read_text()):
        assert not is_of("jax._src", imported.module), f"line {imported.line}: jax._src is private"
        if is_of("tracejit", imported.module):
            assert target(imported, TRACEJIT) in LOWERING_MAY_IMPORT, f"line {imported.line}: {imported.name}"


@pytest.mark.parametrize("module", TRACEJIT)
def test_arrows_point_one_way(module: str):
    assert upward_arrows(module, TRACEJIT[module].read_text(), TRACEJIT) == []


@pytest.mark.parametrize(
    "source",
    [
        "import tracejit.tracer",
        "from tracejit.tracer import Tracer",
        "from tracejit import tracer",
        "def f():\n    from tracejit import tracer",
        "class C:\n    try:\n        import tracejit\n    except ImportError: pass",
    ],
)
def test_the_check_of_arrows_can_fail(source: str):
    known = dict.fromkeys(("tracejit", "tracejit.ir", "tracejit.tracer"), ROOT)
    assert len(upward_arrows("tracejit.ir", source, known)) == 1


def test_typing_imports_are_no_arrows():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tracejit.tracer\n"
    assert upward_arrows("tracejit.ir", source, TRACEJIT) == []


def test_no_import_cycles():
    """No module needs, while it is being imported, a module that needs it."""
    needs = {
        module: {target(i, TRACEJIT) for i in imports_of(path.read_text()) if not (i.lazy or i.typing_only)}
        & TRACEJIT.keys() - {module}
        for module, path in TRACEJIT.items()
    }
    while free := [module for module, needed in needs.items() if not needed]:
        needs = {module: needed - set(free) for module, needed in needs.items() if module not in free}
    assert needs == {}


CLASHES = """
import pkgutil, types, tracejit
for package in (tracejit, tracejit.ops):
    for module in pkgutil.iter_modules(package.__path__):
        if not isinstance(getattr(package, module.name, package), types.ModuleType):
            print(f"{package.__name__}.{module.name}")
"""


def test_no_module_has_the_name_of_a_public_function():
    """Importing such a module would replace the function on its package."""
    assert run_python(CLASHES) == ""
