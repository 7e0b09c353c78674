"""The state of a run: records that the compiled core reads and changes where they lie."""
