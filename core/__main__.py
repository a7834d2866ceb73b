"""``python -m core``: every command, without the terminal app."""

import sys

from core.cli import main

if __name__ == "__main__":
    sys.exit(main())
