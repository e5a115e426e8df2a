#!/usr/bin/env python3
"""Ends tools/test.sh where something failed: failures.py FOLDER STEPS STEP... names each failed test of the failed steps,
with the end of what it printed. Whoever reads this may see no more than the end of a log, so it shares few lines
among all of them: STEP.jsonl is tools/gotest.py's, STEP.xml is pytest's, and STEP.txt is what any step printed."""

import json
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

CRASHES = ("panic:", "fatal error:", "SIG", "WARNING: DATA RACE", "unexpected fault address")
LINES = 60  # of all failures together, unless their names alone are more


def of_go(file: Path) -> list[tuple[str, list[str]]]:
    failures = [json.loads(line) for line in file.read_text().splitlines()]
    return [(failure["name"], failure["output"]) for failure in failures]


def of_pytest(file: Path) -> list[tuple[str, list[str]]]:
    found = []
    for case in xml.parse(file).iter("testcase"):
        said = [part.text or part.get("message", "") for part in case if part.tag in ("failure", "error")]
        if said:
            found.append((f"{case.get('classname')} {case.get('name')}".strip(), "\n".join(said).splitlines()))
    return found


def failures(folder: Path, step: str) -> list[tuple[str, list[str]]]:
    """The failed tests of a step and what they printed; the step itself where it names none."""
    found = []
    for suffix, read in (".jsonl", of_go), (".xml", of_pytest):
        file = folder / (step + suffix)
        try:
            found += read(file) if file.exists() else []
        except (ValueError, xml.ParseError) as problem:  # of a step that was killed while it wrote
            found.append((f"({file}: {problem})", []))
    found = [(f"{step}: {name}", output) for name, output in found]
    return found or [(step, (folder / f"{step}.txt").read_text(errors="replace").splitlines())]


def shares(wanted: list[int], lines: int) -> list[int]:
    """How many lines each gets: what one does not need is the others'."""
    given = [0] * len(wanted)
    while lines > 0 and given != wanted:
        for i, want in enumerate(wanted):
            if given[i] < want and lines > 0:
                given[i] += 1
                lines -= 1
    return given


def worth_most(output: list[str], lines: int) -> list[str]:
    """The end; of a crash or a race its beginning, for what follows are stacks."""
    for i, line in enumerate(output):
        if line.startswith(CRASHES):
            return output[i:i + lines]
    return output[len(output) - lines:]


def main() -> None:
    folder, steps, failed = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    found = [(name, [line for line in output if line.strip()]) for step in failed for name, output in failures(folder, step)]
    given = shares([len(output) for _, output in found], LINES - len(found) - 1)
    print()
    for (name, output), lines in zip(found, given):
        print("FAILED", name)
        for line in worth_most(output, lines):
            print("   ", line[:300])
    print(f"{len(failed)} of {steps} steps failed: {', '.join(failed)} (everything they printed is in {folder})")


if __name__ == "__main__":
    main()
