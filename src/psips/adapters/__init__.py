"""Other packages' experiments, each an extra of its own: imported where it is installed."""
