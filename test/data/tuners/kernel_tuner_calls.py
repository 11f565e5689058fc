"""Writes the predictions, tunes with two strategies, and prints the results and the options of these calls."""
import contextlib, io, json, runpy, kernel_tuner, exported
with contextlib.redirect_stdout(io.StringIO()) as said:
    runpy.run_module("exported", run_name="__main__")
assert said.getvalue() == "Wrote the predictions to walk-predicted.json\n", said.getvalue()
exported.tune("kernel.cu", [], strategy="minimize", strategy_options={"max_fevals": 5})
exported.tune("kernel.cu", [], strategy="bayes_opt")
simulated, own, _ = kernel_tuner.calls
assert not {"loop", "balancing", "implementation"} & set(exported.NAMES)
print(json.dumps(dict(results=simulated["results"], x0=dict(zip(exported.NAMES, own["strategy_options"]["x0"])), calls=own["strategy_options"])))
