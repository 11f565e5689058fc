-- Version 5: sweeps that keep the best designs of their space alone. `predictions` has these and no others, and `run_chunks` nothing.

-- How many designs to keep; NULL where all are predicted and saved.
ALTER TABLE runs ADD COLUMN best_wanted INTEGER CHECK (best_wanted >= 1);

-- Designs that were predicted to find them; NULL until they are saved.
ALTER TABLE runs ADD COLUMN predicted_count INTEGER CHECK (predicted_count >= 0);

-- The design that is recommended, where it is not among those kept: they are all about as fast, and it is a simpler one.
ALTER TABLE runs ADD COLUMN picked_design INTEGER;
