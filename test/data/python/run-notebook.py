"""Executes the code cells of a notebook in order, as Jupyter does, and prints the notebook with what they print and return.

python3 run-notebook.py NOTEBOOK FOLDER, where FOLDER has the modules that it imports. Files are looked for beside the notebook.
"""

import ast
import contextlib
import io
import json
import os
import sys

notebook_file, folder = sys.argv[1:]
sys.path.insert(0, os.path.abspath(folder))
with open(notebook_file, encoding="utf-8") as file:
    notebook = json.load(file)
os.chdir(os.path.dirname(os.path.abspath(notebook_file)))

names = {"__name__": "__main__"}
count = 0
for cell in notebook["cells"]:
    if cell["cell_type"] != "code":
        continue
    count += 1
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    cell["execution_count"] = count
    cell["outputs"] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        cell["outputs"].append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        cell["outputs"].append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
print(json.dumps(notebook, indent=1, ensure_ascii=False))
