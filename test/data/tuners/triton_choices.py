"""Prints the configurations that Triton keeps, and the best one, for each number of units in the arguments."""
import json, sys, triton, exported
best, kept = [], []
for units in [*map(int, sys.argv[1:]), exported.UNITS[-1]]:
    arguments = {exported.UNITS_ARGUMENT: units, "out": None}
    configs = triton.prune(exported.configs, arguments, {"stream": 0}, **exported.prune_configs_by)
    kept.append(len(configs))
    config = min(configs, key=lambda config: exported.perf_model(**arguments, **config.all_kwargs()))
    meta = {**arguments, **config.all_kwargs()}
    best.append(dict(blocks=exported.grid(meta)[0], threads=meta["num_warps"] * 32, ms=exported.perf_model(**meta)))
    assert meta["THREADS_PER_UNIT"] * meta["BLOCK_UNITS"] == meta["num_warps"] * 32
print(json.dumps(dict(units=exported.UNITS, kept=kept, best=best)))
