-- Version 3: what a list of runs shows of every run is in `runs` alone.

-- The sweep whose designs a run simulates or measures; NULL of one that measures something else. No reference: what was found
-- stays when the sweep is removed.
ALTER TABLE runs ADD COLUMN source_run_id INTEGER;
UPDATE runs
SET
  source_run_id = CAST(
    coalesce(study ->> '$.simulation.sourceRunId', study ->> '$.measuring.request.sourceRunId') AS INTEGER
  )
WHERE
  kind <> 'sweep';

-- Designs that are simulated count as those that are predicted and measured do.
UPDATE runs
SET
  valid_count = (SELECT count(*) FROM simulations WHERE run_id = runs.id)
WHERE
  kind = 'simulate';
