-- Version 5: sweeps that keep only the best designs of their space. `predictions` has only these designs, and
-- `run_chunks` has no rows of the run.

-- How many designs to keep; NULL where all are predicted and saved.
ALTER TABLE runs ADD COLUMN best_wanted INTEGER CHECK (best_wanted >= 1);

-- Designs that were predicted to find them; NULL until they are saved.
ALTER TABLE runs ADD COLUMN predicted_count INTEGER CHECK (predicted_count >= 0);

-- The recommended design if it may not be kept: the kept ones are all about as fast, but it is simpler.
ALTER TABLE runs ADD COLUMN picked_design INTEGER;
