-- Version 1. Readable with any SQLite tool (3.37 or newer). Times of day are ISO 8601 in UTC; durations carry their unit.
-- JSON columns are text. What a person would ask of a run is in the views `designs` and `ranking`.

CREATE TABLE studies (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  spec TEXT NOT NULL CHECK (json_valid(spec)),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  deleted_at TEXT
) STRICT;

-- Processes that write runs. A run in state `running` whose owner is gone is an interrupted one.
CREATE TABLE owners (
  token TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  heartbeat_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One execution. `study` is the study as it was then: what `study_id` points at may have changed since.
CREATE TABLE runs (
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
  failure TEXT CHECK (json_valid(failure)),
  owner_token TEXT REFERENCES owners (token) ON DELETE SET NULL,
  deleted_at TEXT
) STRICT;
CREATE INDEX runs_by_study ON runs (study_id);
CREATE INDEX runs_by_owner ON runs (owner_token);

CREATE TABLE run_tags (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  PRIMARY KEY (run_id, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_tags_by_tag ON run_tags (tag);

-- The devices of a run as they were described then.
CREATE TABLE run_devices (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  device_id TEXT NOT NULL,
  device TEXT NOT NULL CHECK (json_valid(device)),
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- A design index is a mixed-radix number over the axes, slowest first: device, threadsPerUnit, loop, balancing, launch,
-- registerCap, blockThreads. Position on an axis = (design_index / stride) % size.
CREATE TABLE run_axes (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  axis TEXT NOT NULL CHECK (
    axis IN ('device', 'threadsPerUnit', 'loop', 'balancing', 'launch', 'registerCap', 'blockThreads')
  ),
  size INTEGER NOT NULL CHECK (size > 0),
  stride INTEGER NOT NULL CHECK (stride > 0),
  PRIMARY KEY (run_id, axis)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_axis_values (
  run_id INTEGER NOT NULL,
  axis TEXT NOT NULL,
  position INTEGER NOT NULL,
  value ANY, -- integer or text; NULL where the axis means "no cap"
  PRIMARY KEY (run_id, axis, position),
  FOREIGN KEY (run_id, axis) REFERENCES run_axes (run_id, axis) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A chunk is here exactly when all its predictions are: both are written in one transaction.
CREATE TABLE run_chunks (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  first_design INTEGER NOT NULL CHECK (first_design >= 0),
  count INTEGER NOT NULL CHECK (count > 0),
  PRIMARY KEY (run_id, first_design)
) STRICT, WITHOUT ROWID;

-- Every enumerated design. An invalid one has no time and says why.
CREATE TABLE predictions (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  design_index INTEGER NOT NULL,
  time_ms REAL,
  mean_loss REAL,
  aggregate_loss REAL,
  occupancy_fraction REAL,
  resident_blocks INTEGER NOT NULL,
  limited_by INTEGER NOT NULL, -- bits: 1 warps, 2 registers, 4 shared memory, 8 blocks
  invalid_reason INTEGER NOT NULL, -- code in invalid_reasons; 0 is valid
  units_per_thread INTEGER,
  grid_blocks INTEGER,
  PRIMARY KEY (run_id, design_index)
) STRICT, WITHOUT ROWID;

-- Derived from predictions, for opening a run quickly: one packed little-endian array per column and chunk. May be
-- emptied at any time; it is rebuilt when the run is next opened.
CREATE TABLE run_columns (
  run_id INTEGER NOT NULL,
  first_design INTEGER NOT NULL,
  name TEXT NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (run_id, first_design, name),
  FOREIGN KEY (run_id, first_design) REFERENCES run_chunks (run_id, first_design) ON DELETE CASCADE
) STRICT;

-- Names of predictions.invalid_reason, kept equal to the program's own list.
CREATE TABLE invalid_reasons (
  code INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  description TEXT NOT NULL
) STRICT;

-- One simulated design. `design` is its full description, so that it outlives the sweep it came from.
CREATE TABLE simulations (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  source_run_id INTEGER REFERENCES runs (id) ON DELETE SET NULL,
  design_index INTEGER,
  device_id TEXT NOT NULL,
  design TEXT NOT NULL CHECK (json_valid(design)),
  predicted_ms REAL,
  replications INTEGER NOT NULL,
  mean_ms REAL NOT NULL,
  standard_deviation_ms REAL NOT NULL,
  min_ms REAL NOT NULL,
  median_ms REAL NOT NULL,
  max_ms REAL NOT NULL,
  times_ms TEXT NOT NULL CHECK (json_valid(times_ms)), -- every replication
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX simulations_by_source ON simulations (source_run_id, design_index);

-- One measured design, and below it every repeat.
CREATE TABLE measured_designs (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  source_run_id INTEGER REFERENCES runs (id) ON DELETE SET NULL,
  design_index INTEGER,
  device_id TEXT NOT NULL,
  design TEXT NOT NULL CHECK (json_valid(design)),
  backend TEXT NOT NULL,
  predicted_ms REAL,
  correct INTEGER CHECK (correct IN (0, 1)), -- result equal to the CPU's; NULL where not checked
  failure TEXT, -- why there is no time, where there is none
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX measured_designs_by_source ON measured_designs (source_run_id, design_index);

CREATE TABLE measurements (
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  repeat_index INTEGER NOT NULL,
  time_ms REAL NOT NULL,
  PRIMARY KEY (run_id, position, repeat_index),
  FOREIGN KEY (run_id, position) REFERENCES measured_designs (run_id, position) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Devices the person described; the catalogue that comes with the program is not here.
CREATE TABLE devices (
  id TEXT PRIMARY KEY,
  device TEXT NOT NULL CHECK (json_valid(device)),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

-- Resolved laws of unit lengths. `provenance` says where the lengths came from (file name, size, digest, …).
CREATE TABLE workloads (
  hash TEXT PRIMARY KEY,
  label TEXT NOT NULL,
  support BLOB NOT NULL, -- float64, little-endian
  probability BLOB NOT NULL,
  truncated_mass REAL NOT NULL,
  provenance TEXT NOT NULL CHECK (json_valid(provenance)),
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL CHECK (json_valid(value))
) STRICT, WITHOUT ROWID;

CREATE VIEW designs AS
SELECT
  p.run_id,
  p.design_index,
  device.value AS device,
  threads_per_unit.value AS threads_per_unit,
  p.units_per_thread,
  loop.value AS loop,
  balancing.value AS balancing,
  launch.value AS launch,
  p.grid_blocks,
  register_cap.value AS register_cap,
  block_threads.value AS block_threads
FROM
  predictions AS p
  LEFT JOIN run_axes AS a1 ON a1.run_id = p.run_id AND a1.axis = 'device'
  LEFT JOIN run_axis_values AS device
    ON device.run_id = p.run_id AND device.axis = 'device'
    AND device.position = (p.design_index / a1.stride) % a1.size
  LEFT JOIN run_axes AS a2 ON a2.run_id = p.run_id AND a2.axis = 'threadsPerUnit'
  LEFT JOIN run_axis_values AS threads_per_unit
    ON threads_per_unit.run_id = p.run_id AND threads_per_unit.axis = 'threadsPerUnit'
    AND threads_per_unit.position = (p.design_index / a2.stride) % a2.size
  LEFT JOIN run_axes AS a3 ON a3.run_id = p.run_id AND a3.axis = 'loop'
  LEFT JOIN run_axis_values AS loop
    ON loop.run_id = p.run_id AND loop.axis = 'loop'
    AND loop.position = (p.design_index / a3.stride) % a3.size
  LEFT JOIN run_axes AS a4 ON a4.run_id = p.run_id AND a4.axis = 'balancing'
  LEFT JOIN run_axis_values AS balancing
    ON balancing.run_id = p.run_id AND balancing.axis = 'balancing'
    AND balancing.position = (p.design_index / a4.stride) % a4.size
  LEFT JOIN run_axes AS a5 ON a5.run_id = p.run_id AND a5.axis = 'launch'
  LEFT JOIN run_axis_values AS launch
    ON launch.run_id = p.run_id AND launch.axis = 'launch'
    AND launch.position = (p.design_index / a5.stride) % a5.size
  LEFT JOIN run_axes AS a6 ON a6.run_id = p.run_id AND a6.axis = 'registerCap'
  LEFT JOIN run_axis_values AS register_cap
    ON register_cap.run_id = p.run_id AND register_cap.axis = 'registerCap'
    AND register_cap.position = (p.design_index / a6.stride) % a6.size
  LEFT JOIN run_axes AS a7 ON a7.run_id = p.run_id AND a7.axis = 'blockThreads'
  LEFT JOIN run_axis_values AS block_threads
    ON block_threads.run_id = p.run_id AND block_threads.axis = 'blockThreads'
    AND block_threads.position = (p.design_index / a7.stride) % a7.size;

-- Best first. `WHERE run_id = 7 AND rank <= 10` is quick: the designs are decoded after the ranks are known.
-- Invalid designs come last, with their reason and no rank.
CREATE VIEW ranking AS
SELECT
  p.run_id,
  CASE WHEN p.time_ms IS NOT NULL THEN p.position END AS rank,
  p.design_index,
  p.time_ms,
  d.device,
  d.threads_per_unit,
  d.units_per_thread,
  d.loop,
  d.balancing,
  d.launch,
  d.grid_blocks,
  d.register_cap,
  d.block_threads,
  p.mean_loss,
  p.aggregate_loss,
  p.occupancy_fraction,
  p.resident_blocks,
  p.limited_by,
  reason.name AS invalid_reason
FROM
  (
    SELECT *, rank() OVER (PARTITION BY run_id ORDER BY time_ms NULLS LAST) AS position
    FROM predictions
  ) AS p
  JOIN designs AS d ON d.run_id = p.run_id AND d.design_index = p.design_index
  LEFT JOIN invalid_reasons AS reason ON reason.code = p.invalid_reason;
