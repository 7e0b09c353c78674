"""The paper's figures, and further ones: runs, drawings, statements, and the results page."""
