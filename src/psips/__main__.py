"""``python -m psips`` is the command line."""

from psips.cli import main

if __name__ == "__main__":
    main()
