"""triton.Config, and how triton.autotune prunes its configs (python/triton/runtime/autotuner.py)."""


class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        assert num_warps & (num_warps - 1) == 0
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = kwargs, num_warps, num_stages, num_ctas, maxnreg

    def all_kwargs(self):
        options = dict(num_warps=self.num_warps, num_ctas=self.num_ctas, num_stages=self.num_stages, maxnreg=self.maxnreg)
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}


def prune(configs, named_args, kwargs, perf_model, top_k, early_config_prune):
    kept = early_config_prune(configs, named_args, **kwargs)
    assert kept and isinstance(top_k, int)
    if len(kept) > top_k:
        times = {config: perf_model(**named_args, **kwargs, **config.all_kwargs()) for config in kept}
        kept = sorted(times, key=times.get)[:top_k]
    return kept
