"""Compiled programs that outlive the process: JAX's persistent compilation cache, in one setting."""

from __future__ import annotations

import os

from tracejit.bridge import backend


def enable_compilation_cache(folder: str | os.PathLike[str] | None) -> None:
    """Keep compiled programs in a folder, from where another process takes them instead of compiling.

    It is JAX's own cache, for the whole process, with its limits off: programs that compile in a moment are kept too.
    JAX's keys hold the program, the devices and the versions, but no source lines, so that moving code changes nothing.
    Nothing is ever deleted; remove the folder to begin anew. None switches the cache off. Programs in it are run as
    they are: keep it where only those can write whose code you would run.

    >>> import tempfile, tracejit
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tracejit.enable_compilation_cache(folder)
    ...     tracejit.enable_compilation_cache(None)
    """
    if folder is not None:
        os.makedirs(folder, exist_ok=True)  # and raise here what would be a warning at each compilation
    backend.enable_compilation_cache(None if folder is None else os.path.abspath(folder))
