"""Compiled kernels: arrays in, arrays out; no classes with a life, no I/O, no errors."""
