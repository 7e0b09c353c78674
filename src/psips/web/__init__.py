"""Pages and a JSON interface for studies; needs the extra ``psips[web]``."""
