"""optuna.Study: enqueued trials run first, with their parameters."""


class Trial:
    def __init__(self, params):
        self.params = params

    def suggest_categorical(self, name, choices):
        assert self.params[name] in choices
        return self.params[name]

    def suggest_int(self, name, low, high, log=False):
        assert low <= self.params[name] <= high and isinstance(self.params[name], int)
        self.numbers = [*getattr(self, "numbers", []), name]
        return self.params[name]

    def set_user_attr(self, key, value):
        self.attribute = {key: value}


class Study:
    def __init__(self):
        self.trials = []

    def set_user_attr(self, key, value):
        self.attribute = {key: value}

    def enqueue_trial(self, params, user_attrs=None, skip_if_exists=False):
        if not (skip_if_exists and any(params == trial["params"] for trial in self.trials)):
            self.trials.append(dict(params=params, user_attrs=user_attrs))
