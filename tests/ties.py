from tie_error_quadrature import *  # noqa: F403
