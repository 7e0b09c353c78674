"""Commands measured side by side, in rounds, until the Pareto set of their metrics is known."""
