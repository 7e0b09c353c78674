"""Evaluations of options on items: a table that exists, or a function that is called."""
