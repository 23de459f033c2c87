"""Our own memory behind the capability contract: records, with all ten extensions."""
