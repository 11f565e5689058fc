import json, optuna, sys, device_0, device_1

optuna.logging.set_verbosity(optuna.logging.ERROR)
kind, file = sys.argv[1:]
storage = (
    f"sqlite:///{file}" if kind == "sqlite" else optuna.storages.JournalStorage(optuna.storages.JournalFileStorage(file))
)
modules = [device_0, device_1]

def measure(at):
    def objective(trial):
        design = modules[at].suggest(trial)
        blocks = modules[at].blocks(100000, *(
            design[name] for name in ("threads_per_unit", "units_per_thread", "block_threads", "grid_blocks")))
        return 1000 * at + design["threads_per_unit"] + design["block_threads"] / 1000 + 1 / blocks
    return objective

def study_of(name, seed):
    return optuna.create_study(study_name=name, storage=storage, sampler=optuna.samplers.RandomSampler(seed=seed))

studies = [study_of(f"device {at}", at) for at in (0, 1)]
for at in (0, 1):
    modules[at].enqueue(studies[at], 8)
    studies[at].optimize(measure(at), n_trials=25)
shared = study_of("shared", 2)
for turn in range(30):
    if turn == 0:
        modules[0].enqueue(shared, 1)
    shared.optimize(measure(turn % 3 == 0), n_trials=1)
print(json.dumps({
    study.study_name: [(trial.user_attrs["lockstep"], trial.value) for trial in study.trials] for study in [*studies, shared]
}))
