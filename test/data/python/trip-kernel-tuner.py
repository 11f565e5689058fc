chosen = [dict(zip(exported.NAMES, design)) for design in choose(list(exported.PREDICTED_MS))]
entries = {
    ",".join(map(str, design.values())): {**design, "time": at + 1.25, "times": [at + 1.25]} for at, design in enumerate(chosen)
}
with open(sys.argv[1], "w") as out:
    json.dump({
        "device_name": "unknown", "kernel_name": exported.KERNEL, "problem_size": [exported.UNITS],
        "tune_params_keys": list(exported.NAMES), "tune_params": exported.tune_params, "objective": "time", "cache": entries,
    }, out)
print(json.dumps([
    said(
        one, exported.problem_size(one)[0], exported.BALANCINGS[one["lockstep_balancing"]], exported.LOOPS[one["lockstep_loop"]],
        exported.IMPLEMENTATIONS[one["lockstep_implementation"]], one["block_size_x"],
    )
    for one in chosen
]))
