"""kernel_tuner.tune_kernel: in simulation mode every configuration within the restrictions must be in the cache; else
each is measured, with the number of its blocks as its time, and written to the cache."""
import itertools, json

calls = []

def tune_kernel(kernel_name, kernel_source, problem_size, arguments, tune_params, grid_div_x=None, restrictions=None,
                strategy=None, strategy_options=None, cache=None, simulation_mode=False, lang=None):
    assert not {"grid_size_x", "grid_size_y", "grid_size_z", "time"} & set(tune_params)
    assert grid_div_x == [] and (cache is None or cache.endswith(".json"))
    results = []
    for values in itertools.product(*tune_params.values()):
        design = dict(zip(tune_params, values))
        if restrictions(design):
            results.append({**design, "blocks": problem_size(design)[0]})
    if simulation_mode:
        # Kernel Tuner warns if the arguments differ from the parameters of the function of this name.
        assert kernel_name + "(" not in kernel_source
        with open(cache) as file:
            known = json.load(file)
        assert known["kernel_name"] == kernel_name and known["tune_params_keys"] == list(tune_params)
        for result in results:
            result["time"] = known["cache"][",".join(str(result[name]) for name in tune_params)]["time"]
    elif cache:
        for result in results:
            result.update(time=float(result["blocks"]), times=[float(result["blocks"])] * 7)
        with open(cache, "w") as file:
            json.dump({
                "device_name": "NVIDIA A100-SXM4-40GB", "kernel_name": kernel_name, "problem_size": "function",
                "tune_params_keys": list(tune_params), "tune_params": tune_params, "objective": "time",
                "cache": {
                    ",".join(str(result[name]) for name in tune_params):
                        {name: value for name, value in result.items() if name != "blocks"} for result in results
                },
            }, file)
    assert strategy != "bayes_opt" or "x0" not in strategy_options, "Unrecognized option x0"
    if strategy_options and "x0" in strategy_options:
        assert len(strategy_options["x0"]) == len(tune_params) and restrictions(dict(zip(tune_params, strategy_options["x0"])))
    calls.append(dict(strategy=strategy, strategy_options=strategy_options, results=results))
    return results, {}
