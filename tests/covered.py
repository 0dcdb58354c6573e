"""Does a test run something of every module? `python -m tests.covered COVERAGE.json`, as `make coverage` does.

Importing a module runs its first lines, so they prove nothing: what counts is a line inside a function. Kernels are
compiled, and machine code cannot be traced; a module of which nothing but kernels is left says so with its decorators.
"""

import ast
import json
import sys
from pathlib import Path

COMPILED = {"kernel", "inlined_kernel", "implements", "intrinsic", "overload"}
UNTRACED = {"rankloop/__main__.py"}
"""What only processes of their own run."""


def bodies(source: str) -> set[int]:
    """The lines inside functions that Python itself runs; what stands inside a compiled one is run by the compiler, and
    not even by that where the machine code is kept."""
    lines: set[int] = set()
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if _is_compiled(node):
                continue
            for statement in node.body:
                lines.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
        waiting.extend(ast.iter_child_nodes(node))
    return lines


def _is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = (mark.func if isinstance(mark, ast.Call) else mark for mark in function.decorator_list)
    return any(getattr(name, "id", getattr(name, "attr", "")) in COMPILED for name in names)


def untested(report: dict) -> list[str]:
    """Modules that have something to run of which nothing was run."""
    found = []
    for path, told in report["files"].items():
        run, left = set(told["executed_lines"]), set(told["missing_lines"])
        inside = bodies(Path(path).read_text(encoding="utf-8")) & (run | left)
        excused = any(path.endswith(name) for name in UNTRACED)
        if (inside and not inside & run and not excused) or (left and not run):
            found.append(path)
    return found


def main() -> None:
    """Name the modules that are not tested, and fail if there are any."""
    found = untested(json.loads(Path(sys.argv[1]).read_text()))
    for path in found:
        print(f"no test runs anything of {path}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
