#!/usr/bin/env python3
"""Reads "go test -json" and prints what a person wants of it: a line for each package, everything about a test that
failed, and every skipped test with its reason, which plain "go test" swallows. The exit code is go's business: use
pipefail."""

import json
import re
import sys

output: dict[tuple[str, str], list[str]] = {}
skipped: list[str] = []
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
    elif action == "fail" and test:
        print("".join(output.pop(key, [])), end="", flush=True)
    elif action == "skip" and test:
        lines = [text.strip() for text in output.pop(key, []) if not re.match(r"\s*(===|---)", text)]
        reason = re.sub(r"^\S+\.go:\d+: ", "", " ".join(lines))
        skipped.append(f"skipped: {package.removeprefix(module + '/')} {test}: {reason}")
    elif action == "pass" and test:
        output.pop(key, None)

for text in skipped:
    print(text)
