"""How often stopping rules err: families of hard instances, and the search for more."""
