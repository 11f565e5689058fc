"""The part of Triton that the worked example uses, on NumPy: every program of the grid runs, and every access is checked."""

import numpy

from . import language

# Launches, as (grid, meta).
launches = []


class Config:
    def __init__(self, kwargs, num_warps=4, maxnreg=None):
        self.kwargs, self.num_warps, self.maxnreg = kwargs, num_warps, maxnreg

    def all_kwargs(self):
        return {**self.kwargs, "num_warps": self.num_warps, **({} if self.maxnreg is None else {"maxnreg": self.maxnreg})}


class jit:
    def __init__(self, function):
        self.function = function
        self.names = function.__code__.co_varnames[: function.__code__.co_argcount]

    def launch(self, grid, config, *values, **named):
        arguments = {**dict(zip(self.names, values)), **named, **config.kwargs}
        size = grid({**arguments, **config.all_kwargs()}) if callable(grid) else grid
        launches.append((size, config.all_kwargs()))
        pointers = {name: language.Pointer(value) if isinstance(value, numpy.ndarray) else value for name, value in arguments.items()}
        for program in range(size[0]):
            language.current = (program, size[0])
            self.function(**pointers)


class autotune:
    """Launches with each of the configurations, as tuning does."""

    def __init__(self, configs, key, prune_configs_by):
        self.configs, self.key, self.prune = configs, key, prune_configs_by

    def __call__(self, kernel):
        assert set(self.key) <= set(kernel.names)
        self.kernel = kernel
        return self

    def __getitem__(self, grid):
        def launch(*values, **named):
            arguments = {**dict(zip(self.kernel.names, values)), **named}
            for config in self.prune["early_config_prune"](self.configs, arguments):
                self.kernel.launch(grid, config, *values, **named)

        return launch
