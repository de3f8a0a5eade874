"""The interpreter that runs operations on a target and holds them against the model, and its drivers."""
