"""The pure model: which states a task may be in after what was observed."""
