"""`python -m tracejit`: the same as the command `tracejit`."""

import sys

from tracejit.shell import main

if __name__ == "__main__":
    sys.exit(main())
