"""``python -m psips``, like ``psips``, is the command line."""

import os
import signal

from psips.interruptible import INTERRUPTED


def command() -> None:
    """Run the command line; Ctrl-C ends it without a word while it is still being imported.

    An exception in the middle of an import would be shown where it happens, or be taken for a
    failure of what is imported.
    """
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from psips import cli

    try:
        signal.signal(signal.SIGINT, heard)
        cli.command()
    except KeyboardInterrupt:  # after the line above, before the command listens itself
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    command()
