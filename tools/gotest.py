#!/usr/bin/env python3
"""Reads "go test -json" and prints what a person wants of it: a line for each package, everything about a test that
failed, every skipped test with its reason, which plain "go test" swallows, and a closing line with the counts and
the names of what failed. The exit code is go's business: use pipefail."""

import json
import re
import sys

output: dict[tuple[str, str], list[str]] = {}
skipped: list[str] = []
failed: list[str] = []
passed = 0
module = "github.com/goproton/goproton"

for line in sys.stdin:
    try:
        event = json.loads(line)
    except ValueError:
        print(line, end="", flush=True)
        continue
    package, test, action = event.get("Package", ""), event.get("Test", ""), event["Action"]
    key = (package, test)
    if action == "build-output":
        print(event["Output"], end="", flush=True)
    elif action == "output" and not test:
        if event["Output"].startswith(("ok ", "FAIL", "panic", "---", "?", "exit status")) or "\t" not in event["Output"][:4]:
            if event["Output"] not in ("PASS\n", "\n") and "[no test files]" not in event["Output"]:
                print(event["Output"], end="", flush=True)
    elif action == "output":
        output.setdefault(key, []).append(event["Output"])
    elif action == "fail":
        # A package fails with its tests, or by itself when it does not build, panics or runs out of time.
        if test or not any(name.startswith(package + " ") for name in failed):
            failed.append(f"{package} {test}")
        print("".join(output.pop(key, [])), end="", flush=True)
    elif action == "skip" and test:
        lines = [text.strip() for text in output.pop(key, []) if not re.match(r"\s*(===|---)", text)]
        reason = re.sub(r"^\S+\.go:\d+: ", "", " ".join(lines))
        skipped.append(f"skipped: {package.removeprefix(module + '/')} {test}: {reason}")
    elif action == "pass" and test:
        passed += 1
        output.pop(key, None)

for text in skipped:
    print(text)
for name in failed:
    print("FAIL:", name.removeprefix(module + "/").rstrip())
print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
