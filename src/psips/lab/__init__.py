"""What measures psips itself: instances with known truth, calibration, figures, speed.

Nothing that people use imports it; the command line offers it as ``psips lab``.
"""
