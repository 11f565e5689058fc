import json, optuna, sys, exported

optuna.logging.set_verbosity(optuna.logging.ERROR)
kind, file = sys.argv[1:]
storage = (
    f"sqlite:///{file}" if kind == "sqlite" else optuna.storages.JournalStorage(optuna.storages.JournalFileStorage(file))
)
study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))
exported.enqueue(study, 8)
exported.enqueue(study, 3)

def measure(trial):
    design = exported.suggest(trial)
    if trial.number == 13:
        raise RuntimeError("does not launch")
    return design["threads_per_unit"] + design["block_threads"] / 1000

study.optimize(measure, n_trials=14, catch=(RuntimeError,))
trials = [(trial.state.name, trial.user_attrs["lockstep"]) for trial in study.trials]
enqueued = [
    (trial.user_attrs["lockstep_rank"], trial.user_attrs["lockstep_predicted_ms"])
    for trial in study.trials if "lockstep_rank" in trial.user_attrs
]
wanted = [design for design, _ in exported.DESIGNS[:8]]
print(json.dumps(dict(trials=trials, wanted=wanted, enqueued=enqueued)))
