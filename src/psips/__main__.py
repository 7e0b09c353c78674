"""``python -m psips`` is the command line."""

from psips.cli import command

if __name__ == "__main__":
    command()
