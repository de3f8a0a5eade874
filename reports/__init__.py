"""Report files, made from the events of a run."""
