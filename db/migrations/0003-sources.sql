-- Version 3: `runs` alone has all that a list of runs shows.

-- The sweep whose designs a run simulates or measures; NULL for other runs. It is no reference, so the results stay when
-- the sweep is removed.
ALTER TABLE runs ADD COLUMN source_run_id INTEGER;
UPDATE runs
SET
  source_run_id = CAST(
    coalesce(study ->> '$.simulation.sourceRunId', study ->> '$.measuring.request.sourceRunId') AS INTEGER
  )
WHERE
  kind <> 'sweep';

-- Simulated designs count as valid designs, as measured ones do.
UPDATE runs
SET
  valid_count = (SELECT count(*) FROM simulations WHERE run_id = runs.id)
WHERE
  kind = 'simulate';
