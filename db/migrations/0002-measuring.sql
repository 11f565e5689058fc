-- Version 2: who measured, and what measurements say of a kernel on a device.

-- Of a run that measures or was imported: the device that answered, as the program that measured described it. Results of
-- another device are never added to the run.
ALTER TABLE runs ADD COLUMN measuring_device TEXT CHECK (json_valid(measuring_device));

-- Parameters of a kernel on a device, fitted to measured runs. Never changed: a new fit is a new row.
CREATE TABLE calibrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  device_id TEXT NOT NULL,
  profile TEXT NOT NULL CHECK (json_valid(profile)),
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX calibrations_by_device ON calibrations (device_id);
