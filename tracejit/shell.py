"""The command `tracejit`: dtype tables, result types, explanations and comparisons, without writing a program.

Exit codes: 0, and with `--check` 1 where differences or lossy conversions were found; 2 for what cannot be answered.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.errors import TracejitError, compose, hide_frames

_DESCRIPTION = "Implicit dtype conversions under the rules of eight systems: look up, explain, compare."
_EPILOG = """examples:
  tracejit result-type uint8 int8                        the dtype of uint8 with int8 (mindspore)
  tracejit result-type 'i8[]' 'f32[3]' 2.5 --all         tensors and a Python scalar, under every policy
  tracejit table --policy numpy1 --vs mindspore          where two promotion tables differ
  tracejit explain model.py:step --args 'f32[8,16] u8[8]' 0.5
  tracejit compare model.py:step --args 'f32[8,16] u8[8]' 0.5 --check
  tracejit ops Add                                       what an operator takes and gives

In --args and with a shape, dtypes have short codes: f32[8,16], i8[16], b1[], bf16[2]. Without a shape a dtype is
written as NumPy does: int8 or i1 (and i8 is int64)."""

_EXAMPLES = {
    "table": "  tracejit table --policy torch\n  tracejit table --policy mindspore --vs numpy2 --check",
    "result-type": "  tracejit result-type uint8 int8\n  tracejit result-type 'i8[16]' 300 --policy numpy1\n"
    "  tracejit result-type int64 float16 --all --check",
    "explain": "  tracejit explain model.py:step --args 'f32[8,16] i8[16]' 2.5\n"
    "  tracejit explain package.module:loss --args 'f16[4]' rate=0.1 --policy numpy2 --check --json",
    "compare": "  tracejit compare model.py:step --args 'f32[8,16] i8[16]' 2.5\n"
    "  tracejit compare model.py:step --args 'i8[4]' --policies mindspore,torch --check",
    "report": "  tracejit report model.py:step --args 'f32[8,16] i8[16]' 2.5 --output step.html",
    "ops": "  tracejit ops\n  tracejit ops scatter\n  tracejit ops Div --json",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except TracejitError as error:
        if options.json:
            _print_json({"error": {"class": type(error).__name__, "message": error.what, "fix": error.fix}})
        place = error.location if error.location is not None and error.location.file != sys.argv[0] else None
        text = compose(error.what, location=place, types=error.types, rule=error.rule, fix=error.fix)
        print(f"tracejit: {text}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()
        return 0
    except Exception as error:  # the user's own, out of the file or the function that was named
        return _foreign(error)


def _foreign(error: Exception) -> int:
    import traceback

    hide_frames(error)
    traceback.print_exception(error)
    return 2


# ---- the parser ----


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("tracejit", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=form)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[Any], int], help: str, check: str) -> argparse.ArgumentParser:
        examples = f"examples:\n{_EXAMPLES[name]}"
        made = commands.add_parser(name, help=help, description=help, epilog=examples, formatter_class=form)
        made.set_defaults(run=run)
        made.add_argument("--json", action="store_true", help="print JSON")
        if check:
            made.add_argument("--check", action="store_true", help=f"exit with 1 {check}")
        return made

    table = command("table", _table, "Print a policy's promotion table, or where two differ.", "if the two differ")
    table.add_argument("--policy", default="mindspore", metavar="P", help="whose table (default: %(default)s)")
    table.add_argument("--vs", metavar="Q", help="print only where this policy's table differs")

    result = command(
        "result-type", _result_type, "Print the dtype in which operands compute together.", "if the policies differ"
    )
    result.add_argument("operands", nargs="+", metavar="OPERAND", help="a dtype, f32[8,16], or a Python scalar")
    result.add_argument("--policy", default="mindspore", metavar="P", help="by whose rules (default: %(default)s)")
    result.add_argument("--all", action="store_true", help="under every policy")

    explain = command(
        "explain", _explain, "List the implicit conversions of a function.", "if a conversion can lose value"
    )
    _add_target(explain)
    explain.add_argument("--policy", metavar="P", help="by whose rules (default: the function's own)")

    compare = command("compare", _compare, "Put a function side by side under several policies.", "if they differ")
    _add_target(compare)
    compare.add_argument("--policies", metavar="P,Q", help="which, with commas between (default: all)")
    compare.add_argument("--all-lines", action="store_true", help="print the operations that agree, too")

    report = command("report", _report, "Write an HTML page about a function: stages, conversions, policies.", "")
    _add_target(report)
    report.add_argument("--output", metavar="FILE", help="where to (default: NAME-report.html)")

    operators = command("ops", _ops, "List the operators, or say what one takes and gives.", "")
    operators.add_argument("name", nargs="?", metavar="NAME", help="an operator's name, or a part of one")
    return parser


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument("target", metavar="FILE.py:FUNCTION", help="or package.module:FUNCTION")
    command.add_argument(
        "--args", nargs="+", default=[], metavar="OPERAND", help="f32[8,16], i8[16], f32[], 2.5, name=3; no data needed"
    )


# ---- dtypes ----


def _table(options: Any) -> int:
    from tracejit import grids, policies, tables

    mine = policies.get(options.policy)
    if options.vs is None:
        if options.check:
            raise _usage("table --check needs a second policy", "name it with --vs")
        _print(options, tables.table_as_dict(mine), lambda: tables.table_sheet(mine))
        return 0
    other = policies.get(options.vs)
    _print(options, tables.differences_as_dict(mine, other), lambda: tables.differences_sheet(mine, other))
    return int(options.check and bool(grids.differences(mine, other)))


def _result_type(options: Any) -> int:
    from tracejit import policies, tables
    from tracejit.abstract import read_operand

    operands = [read_operand(word) for word in options.operands]
    names = policies.names() if options.all else [options.policy]
    if options.check and not options.all:
        raise _usage("result-type --check compares policies", "add --all")
    answers = {name: tables.answer(operands, policies.get(name)) for name in names}
    if not options.all:
        answers[options.policy].raise_error()
    as_dict = {"operands": options.operands, "policies": {name: answer.as_dict() for name, answer in answers.items()}}
    _print(options, as_dict, lambda: tables.answers_sheet(answers))
    return int(options.check and len({answer.name for answer in answers.values()}) > 1)


# ---- functions ----


def _explain(options: Any) -> int:
    from tracejit.abstract import read_arguments
    from tracejit.explanation import explain_casts

    args, kwargs = read_arguments(options.args)
    explanation = explain_casts(load(options.target), options.policy)(*args, **kwargs)
    _print(options, explanation.as_dict(), explanation.sheet)
    return int(options.check and bool(explanation.lossy or explanation.refused))


def _compare(options: Any) -> int:
    from tracejit.abstract import read_arguments
    from tracejit.comparison import compare

    args, kwargs = read_arguments(options.args)
    policies = options.policies.split(",") if options.policies else None
    comparison = compare(load(options.target), policies)(*args, **kwargs)
    _print(options, comparison.as_dict(), lambda: comparison.sheet(options.all_lines))
    if len(comparison.errors) == len(comparison.policies) and not any(row.operator for row in comparison.rows):
        return 2  # it cannot even be called
    return int(options.check and not comparison.agree)


def _report(options: Any) -> int:
    from tracejit.abstract import read_arguments
    from tracejit.reporting import report

    args, kwargs = read_arguments(options.args)
    written = report(load(options.target), options.output)(*args, **kwargs)
    _print(options, {"function": written.name, "path": str(written.path)}, lambda: written.path)
    return 0


def load(target: str) -> Any:
    """Return the function that `FILE.py:FUNCTION` or `package.module:FUNCTION` names; dots reach into objects."""
    import importlib
    import os

    module_name, _, path = target.rpartition(":")
    if not module_name or not path:
        raise _usage(f"{target!r} names no function", "write FILE.py:FUNCTION or package.module:FUNCTION")
    if not module_name.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise _usage(f"{error}", "name a module that Python finds, or a file") from None
    else:
        module = _module_of_file(module_name)
    found = module
    for name in path.split("."):
        if not hasattr(found, name):
            raise _usage(f"{module_name} has no {path!r}", _names_in(module))
        found = getattr(found, name)
    if not callable(found):
        raise _usage(f"{path} of {module_name} is no function: {found!r:.60}", _names_in(module))
    return found


def _module_of_file(file: str) -> Any:
    import importlib.util
    import os

    if not os.path.isfile(file):
        raise _usage(f"there is no file {file}", "name an existing one, as FILE.py:FUNCTION")
    folder, base = os.path.split(os.path.abspath(file))
    sys.path.insert(0, folder)  # as Python does for a script
    name = base.removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, base))
    assert spec is not None and spec.loader is not None  # a file that ends in .py has them
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _names_in(module: Any) -> str:
    names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
    own = [name for name in names if getattr(vars(module)[name], "__module__", None) == module.__name__]
    return f"its functions: {', '.join(own or names) or 'none'}"


# ---- operators ----


def _ops(options: Any) -> int:
    from tracejit import catalogue

    found = catalogue.find(options.name)
    if not found:
        raise _usage(f"no operator is called {options.name!r}", "`tracejit ops` lists all")
    if options.name is None or len(found) > 1:
        _print(options, {"operators": [catalogue.summary(op) for op in found]}, lambda: catalogue.list_sheet(found))
    else:
        _print(options, catalogue.as_dict(found[0]), lambda: catalogue.sheet(found[0]))
    return 0


# ---- printing ----


def _usage(what: str, fix: str) -> TracejitError:
    from tracejit.errors import AttributeValueError

    return AttributeValueError(what, fix=fix)


def _print(options: Any, as_dict: Any, sheet: Callable[[], Any]) -> None:
    from tracejit.display import show

    if options.json:
        _print_json(as_dict)
    else:
        show(sheet())


def _print_json(value: Any) -> None:
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False))
