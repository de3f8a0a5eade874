"""The engine: model, interpreter, drivers, verdicts."""
