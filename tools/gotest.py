#!/usr/bin/env python3
"""Reads "go test -json" and prints what a person wants of it: a line for each package, everything about a test that
failed, every skipped test with its reason, which plain "go test" swallows, and a closing line with the counts and
the names of what failed. With a file's name it also writes each failure there, with what it printed, for
tools/failures.py. The exit code is go's business: use pipefail."""

import json
import re
import sys

module = "github.com/goproton/goproton"


class Report:
    """What is known so far of a run."""

    def __init__(self) -> None:
        self.output: dict[tuple[str, str], list[str]] = {}  # of the tests that run, and of packages
        self.failed: dict[tuple[str, str], list[str]] = {}
        self.skipped: list[str] = []
        self.passed = 0

    def hear(self, event: dict) -> None:
        """Takes one event of go's into account, and prints what can be said already."""
        # Lines of a build have the package's name in ImportPath, with the test's binary behind it.
        package = event.get("Package") or event.get("ImportPath", "").split(" ")[0]
        test, action, text = event.get("Test", ""), event["Action"], event.get("Output", "")
        said = self.output.setdefault((package, test), [])
        if action in ("output", "build-output"):
            said.append(text)
            if action == "build-output" or not test and worth_a_line(text):
                print(text, end="", flush=True)
        elif action == "fail":
            if not test:
                self.left_over(package)
            # A package fails with its tests, or by itself when it does not build.
            if test or not any(name == package for name, _ in self.failed):
                built = event.get("FailedBuild", "").split(" ")[0]  # itself, or what it imports
                self.fail(package, test, (self.output.get((built, ""), []) if built != package else []) + said)
        elif action == "skip" and test:
            lines = [line.strip() for line in said if not re.match(r"\s*(=== (RUN|NAME|PAUSE|CONT) |--- SKIP: )", line)]
            reason = re.sub(r"^\S+\.go:\d+: ", "", " ".join(lines))
            self.skipped.append(f"skipped: {short(package)} {test}: {reason}")
        elif action == "pass" and test:
            self.passed += 1
        if test and action in ("fail", "skip", "pass"):
            del self.output[package, test]

    def fail(self, package: str, test: str, said: list[str]) -> None:
        self.failed[package, test] = said
        if test:
            print("".join(said), end="", flush=True)

    def left_over(self, package: str) -> None:
        """The tests of a package that is over and that have not ended: it ran out of time, or somebody ended it."""
        for name, test in list(self.output):
            if name == package and test:
                self.fail(package, test, self.output.pop((name, test)))

    def close(self) -> None:
        for text in self.skipped:
            print(text)
        for package, test in self.failed:
            print("FAIL:", title(package, test))
        print(f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped")

    def failures(self) -> list[dict]:
        """Each failure with its output, but not a test that failed only because a part of it did."""
        found = []
        for (package, test), said in self.failed.items():
            lines = [line for line in "".join(said).splitlines() if not re.match(r"\s*(=== (RUN|NAME|PAUSE|CONT) |--- FAIL: )", line)]
            of_parts = any(other == package and name.startswith(test + "/") for other, name in self.failed)
            if lines or not of_parts:
                found.append({"name": title(package, test), "output": lines})
        return found


def worth_a_line(text: str) -> bool:
    if text in ("PASS\n", "\n") or "[no test files]" in text:
        return False
    return text.startswith(("ok ", "FAIL", "panic", "---", "?", "exit status")) or "\t" not in text[:4]


def short(package: str) -> str:
    return package.removeprefix(module + "/")


def title(package: str, test: str) -> str:
    return f"{short(package)} {test}".rstrip()


def main() -> None:
    report = Report()
    for line in sys.stdin:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if isinstance(event, dict) and "Action" in event:
            report.hear(event)
        else:
            print(line, end="", flush=True)
    report.close()
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            for failure in report.failures():
                print(json.dumps(failure), file=file)


if __name__ == "__main__":
    main()
