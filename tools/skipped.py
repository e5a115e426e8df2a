#!/usr/bin/env python3
"""skipped.py FOLDER...: which tests a run of make test or make check skipped, by the reason that they give.

Reads the *.json (go test -json) and *.xml (pytest --junitxml) below each FOLDER. docs/tested.md says what no run of these tests can show.
"""

import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

LINE = re.compile(r"^\s+\w+\.go:\d+: ")  # of the file that calls t.Skip


def go(path):
    """(test, reason) of each skipped test; the reason is the last line that the test logged."""
    said = {}
    for line in path.read_text().splitlines():
        event = json.loads(line)
        test = event.get("Package", "").removeprefix("github.com/goproton/goproton/"), event.get("Test")
        if event["Action"] == "output" and LINE.match(event["Output"]):
            said[test] = LINE.sub("", event["Output"]).strip()
        if event["Action"] == "skip" and test[1]:
            yield " ".join(test), said.get(test, "")


def python(path):
    for case in xml.parse(path).iter("testcase"):
        for skip in case.iter("skipped"):
            yield f"{case.get('classname').split('.')[-1]}.{case.get('name')}", skip.get("message") or ""


def main(folders):
    reasons = collections.defaultdict(list)
    for folder in map(pathlib.Path, folders):
        for path in sorted(folder.glob("*.json")):
            for test, reason in go(path):
                reasons[reason].append(test)
        for path in sorted(folder.glob("*.xml")):
            for test, reason in python(path):
                reasons[reason].append(test)
    for reason, tests in sorted(reasons.items(), key=lambda one: (-len(one[1]), one[0])):
        print(f"{len(tests):4}  {reason or 'no reason'}\n      {tests[0]}{', …' if len(tests) > 1 else ''}")
    print(f"{sum(map(len, reasons.values())):4}  skipped; docs/tested.md says what no machine of ours can test")


if __name__ == "__main__":
    main(sys.argv[1:])
