import json
import numpy
import triton
import jagged_sum as example

random = numpy.random.default_rng(1)
kept = []
for units in (1, 37, 1000):
    lengths = random.geometric(0.15, units) - 1
    offsets = numpy.concatenate([[0], numpy.cumsum(lengths)])
    values = random.integers(1, 9, offsets[-1]).astype(numpy.float32)
    expected = numpy.array([values[begin:end].sum() for begin, end in zip(offsets, offsets[1:])])
    kernel = example.jagged_sum.kernel
    for config in example.configs:
        sums = numpy.full(units, numpy.nan, numpy.float32)
        kernel.launch(example.grid, config, values, offsets, sums, units=units)
        assert (sums == expected).all(), config.all_kwargs()
    arguments = {example.UNITS_ARGUMENT: units}
    kept.append(len(example.prune_configs_by["early_config_prune"](example.configs, arguments)))
print(json.dumps({"kept": kept, "launches": len(triton.launches), "configs": [config.all_kwargs() for config in example.configs]}))
