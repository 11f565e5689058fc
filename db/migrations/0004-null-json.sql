-- Version 4: JSON columns of `runs` that may be NULL say so in their check. json_valid(NULL) is 0 before SQLite 3.42, so that
-- `PRAGMA integrity_check` of those versions reports every run without a failure. SQLite changes a check only with its table.

CREATE TABLE runs_4 (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  study_id INTEGER REFERENCES studies (id) ON DELETE SET NULL,
  study TEXT NOT NULL CHECK (json_valid(study)),
  kind TEXT NOT NULL CHECK (kind IN ('sweep', 'simulate', 'bench', 'import')),
  state TEXT NOT NULL CHECK (state IN ('running', 'complete', 'cancelled', 'failed', 'interrupted')),
  name TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  app_version TEXT NOT NULL,
  model_versions TEXT NOT NULL CHECK (json_valid(model_versions)),
  seed INTEGER,
  machine TEXT NOT NULL CHECK (json_valid(machine)),
  started_at TEXT NOT NULL,
  finished_at TEXT,
  elapsed_ms REAL NOT NULL DEFAULT 0,
  enumerated_count INTEGER NOT NULL,
  valid_count INTEGER NOT NULL DEFAULT 0,
  invalid_count INTEGER NOT NULL DEFAULT 0,
  best_time_ms REAL, -- of the predictions saved when the execution ended
  best_design TEXT, -- the design of that time, in words
  failure TEXT CHECK (failure IS NULL OR json_valid(failure)),
  owner_token TEXT REFERENCES owners (token) ON DELETE SET NULL,
  deleted_at TEXT,
  -- Of a run that measures or was imported: the device that answered, as the program that measured described it.
  measuring_device TEXT CHECK (measuring_device IS NULL OR json_valid(measuring_device)),
  -- The sweep whose designs a run simulates or measures. No reference: the results stay when the sweep is removed.
  source_run_id INTEGER
) STRICT;

-- Version 3 has the same columns in the same order.
INSERT INTO runs_4 SELECT * FROM runs;

-- Ids of removed runs are not used again.
DELETE FROM sqlite_sequence WHERE name = 'runs_4';
INSERT INTO sqlite_sequence (name, seq) SELECT 'runs_4', seq FROM sqlite_sequence WHERE name = 'runs';

DROP TABLE runs;
ALTER TABLE runs_4 RENAME TO runs;
CREATE INDEX runs_by_study ON runs (study_id);
CREATE INDEX runs_by_owner ON runs (owner_token);
