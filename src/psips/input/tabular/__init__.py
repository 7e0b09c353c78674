"""Tables as people keep them: CSV in its dialects, Excel sheets, Parquet; one reader for all.

What a file is, is seen from its first bytes and not from its name. Cells come out as texts with
the number of their line; `Grid.with_points` reads decimal commas, for columns of numbers.
"""

from psips.input.tabular.grid import COMMA, Grid
from psips.input.tabular.reading import read_grid

__all__ = ["COMMA", "Grid", "read_grid"]
