"""Pictures of what is known, from plain data: what a front shows, as SVG and for Plotly."""
