"""archive.py FOLDER PROGRAM SYSTEM ARCHITECTURE: packs a program of the folder, with the files in its folder "common", into an archive
there: zip for Windows, tar.gz for others. Equal files give equal bytes.
"""

import gzip
import io
import sys
import tarfile
from pathlib import Path

from wheel import epoch, version, zipped


def entries(folder, program, top):
    """Pairs of name and content, and whether it is executable."""
    for path in sorted((folder / "common").rglob("*")):
        if path.is_file():
            yield f"{top}/{path.relative_to(folder / 'common').as_posix()}", path.read_bytes(), False
    yield f"{top}/{program}", (folder / program).read_bytes(), True


def tar(path, files):
    with path.open("wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content, executable in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), epoch(), 0o755 if executable else 0o644
            archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    folder, program, system, architecture = Path(sys.argv[1]), *sys.argv[2:]
    top = f"proton-{version()}-{system}-{architecture}"
    pack, suffix = (zipped, ".zip") if system == "windows" else (tar, ".tar.gz")
    pack(folder / (top + suffix), entries(folder, program, top))
    print(folder / (top + suffix))
