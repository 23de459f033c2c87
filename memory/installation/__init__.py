"""Which installation this is: its id, keys, folders, secrets and schema version."""
