"""wheel.py PARTS TAG OUTPUT: packs what parts.sh built into a wheel for pip. Prints its path.

Only the standard library is needed. Equal parts give equal bytes: entries are sorted and have one date.
"""

import base64
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
NAME = "goproton"

# The executable is called goproton, so that it outlives an installation of Triton, whose wheel has scripts with the two other
# names, too. They start it from their own folder, also through a link to them; without one they start no other program for that.
SCRIPT = """#!/bin/sh
here=$0
[ ! -L "$here" ] || here=$(readlink -f "$here")
exec "${{here%/*}}/goproton" {arguments}"$@"
"""
SCRIPTS = {"proton": "", "proton-viewer": "viewer --compat "}

METADATA = """Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: A GPU profiler for people who write Triton, PyTorch and CUDA kernels
License-Expression: MIT
License-File: LICENSE
Keywords: profiler,gpu,cuda,triton,pytorch,roofline
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: GPU
Classifier: Intended Audience :: Developers
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Programming Language :: Python :: Implementation :: CPython
Classifier: Topic :: Software Development
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{description}"""

WHEEL = """Wheel-Version: 1.0
Generator: goproton ({version})
Root-Is-Purelib: false
{tags}
"""


def version():
    """The release, from its one place."""
    text = (REPOSITORY / "internal/version/version.go").read_text()
    return re.search(r'^const Number = "([^"]+)"', text, re.M).group(1)


def description():
    """README.md, without links and pictures that lead into the checkout: a page of a registry has no such files."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", "", text, flags=re.M)
    return re.sub(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)


def epoch():
    """The date of all entries in seconds since 1970: SOURCE_DATE_EPOCH, or the first that a zip file can have, of 1980."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800)


def date():
    return time.gmtime(epoch())[:6]


def entries(parts, tag):
    """What the wheel has: pairs of name and content, and whether it is executable; RECORD is missing."""
    number = version()
    info, data = f"{NAME}-{number}.dist-info", f"{NAME}-{number}.data"
    for path in sorted((parts / NAME).rglob("*")):
        if path.is_file():
            yield path.relative_to(parts).as_posix(), path.read_bytes(), os.access(path, os.X_OK)
    yield f"{NAME}_pytest.py", (parts / f"{NAME}_pytest.py").read_bytes(), False
    yield f"{info}/entry_points.txt", f"[pytest11]\n{NAME} = {NAME}_pytest\n".encode(), False
    yield f"{data}/scripts/{NAME}", (parts / "proton").read_bytes(), True
    for script, arguments in SCRIPTS.items():
        yield f"{data}/scripts/{script}", SCRIPT.format(arguments=arguments).encode(), True
    interpreter, abi, platforms = tag.split("-", 2)
    tags = "\n".join(f"Tag: {interpreter}-{abi}-{platform}" for platform in platforms.split("."))
    yield f"{info}/METADATA", METADATA.format(name=NAME, version=number, description=description()).encode(), False
    yield f"{info}/WHEEL", WHEEL.format(version=number, tags=tags).encode(), False
    yield f"{info}/licenses/LICENSE", (REPOSITORY / "LICENSE").read_bytes(), False


def record(files, path):
    """RECORD: name, hash and size of each file; of itself the name."""
    lines = []
    for name, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{path},,\n"


def zipped(path, files):
    """Writes an archive of (name, content, executable) whose bytes do not depend on when and where it is made."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content, executable in files:
            entry = zipfile.ZipInfo(name, date())
            entry.create_system = 3  # Unix, whose permissions follow
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def pack(parts, tag, folder):
    files = list(entries(parts, tag))
    path = f"{NAME}-{version()}.dist-info/RECORD"
    files.append((path, record(files, path).encode(), False))
    wheel = folder / f"{NAME}-{version()}-{tag}.whl"
    zipped(wheel, files)
    return wheel


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(pack(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
