"""``python -m mcptasks.conformance.cli`` is the command, too."""

import sys

from mcptasks.conformance.cli import main

if __name__ == "__main__":
    sys.exit(main())
