"""Prints the configurations of the whole space that the restrictions admit."""
import itertools, json, exported
passes = [compile(one, "restriction", "eval") for one in exported.RESTRICTIONS]
space = list(itertools.product(*exported.WHOLE.values()))
whole = [one for one in space if all(eval(each, dict(zip(exported.WHOLE, one))) for each in passes)]
assert list(exported.WHOLE) == list(exported.NAMES) and set(exported.PREDICTED_MS) < set(whole)
print(json.dumps(dict(whole=whole, of=len(space), strings=all(isinstance(one, str) for one in exported.RESTRICTIONS))))
