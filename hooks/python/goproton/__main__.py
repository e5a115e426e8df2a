"""``python -m goproton``: the same as ``python -m goproton.proton``."""

from .proton import main

main()
