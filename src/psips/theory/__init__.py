"""What the problem itself says of how hard it is: best responses, T* and w*."""
