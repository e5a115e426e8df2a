#!/usr/bin/env python3
"""Copies the outputs that run_all.sh recorded to the README files of the tutorials.

    tutorials/fill.py OUTDIR

Replaces the text between <!-- output --> and <!-- /output --> in tutorials/NAME/README.md with OUTDIR/NAME.txt and a line
that names the machine. A README whose tutorial has no output is unchanged; standard error names it, and the exit code is 1.
"""

import pathlib
import re
import sys

WIDTH = 150  # characters of a line; names of C++ kernels have up to a thousand
BLOCK = re.compile(r"(<!-- output -->).*?(<!-- /output -->)", re.DOTALL)
SHOWN = ("GPU", "driver", "Python", "torch", "Triton", "GoProton")
ALSO = {"cpp": ("GPU", "driver", "nvcc", "GoProton"), "go": ("GPU", "driver", "GoProton")}


def machine(folder):
    lines = (folder / "machine.txt").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines)


def caption(name, facts):
    """One line with the GPU, the versions that this tutorial depends on, and the date."""
    shown = [facts["GPU"]]
    shown += [f"{key} {facts[key]}" for key in ALSO.get(name, SHOWN) if key != "GPU"]
    return f"Recorded on {', '.join(shown)}; {facts['date']}. Lines are cut at {WIDTH} characters."


def cut(line):
    line = line.rstrip()
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def block(name, folder, facts):
    text = (folder / f"{name}.txt").read_text()
    # File names are relative to the tutorial's folder.
    text = text.replace(f"{folder}/{name}/", "")
    lines = "\n".join(cut(line) for line in text.strip().splitlines())
    return f"<!-- output -->\n{caption(name, facts)}\n\n```console\n{lines}\n```\n<!-- /output -->"


REPLAYED = {"always_on", "amd", "inside", "notebook"}  # what stands there is not of this machine; TestReplaysOnPages writes it


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tutorials/fill.py OUTDIR")
    folder = pathlib.Path(sys.argv[1]).resolve()
    facts = machine(folder)
    missing = []
    for readme in sorted(pathlib.Path(__file__).resolve().parent.glob("*/README.md")):
        name, text = readme.parent.name, readme.read_text()
        if len(BLOCK.findall(text)) != 1:
            sys.exit(f"fill: {readme} has not exactly one output block: put <!-- output --> and <!-- /output --> where the output goes")
        if name in REPLAYED:
            continue
        if not (folder / f"{name}.txt").exists():
            missing.append(name)
            continue
        readme.write_text(BLOCK.sub(lambda _: block(name, folder, facts), text))
        print(f"filled {readme}")
    if missing:
        sys.exit(f"fill: no output for {', '.join(missing)}: see the .failed.txt files in {folder}, or what run_all.sh skipped")


if __name__ == "__main__":
    main()
