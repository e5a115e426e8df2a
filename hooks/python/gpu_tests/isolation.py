"""Each check runs in a process of its own: one that crashes or hangs costs nothing but itself, and torch.profiler keeps CUPTI to
itself once it was used. That process imports everything at once, then waits for the GPU: checks marked `alone` have it for themselves,
also among the workers of xdist. The lock is a file that the process inherits; it is free again when the process has ended."""
import faulthandler
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

LOCK = pathlib.Path(tempfile.gettempdir()) / f"goproton-gpu-{os.getuid()}.lock"


class Inside:
    """In the process of one check: waits for the GPU, and writes down the reports."""

    def __init__(self, config, lock, reports):
        self.config, self.lock, self.reports = config, int(lock), reports

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        fcntl.flock(self.lock, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        patience = next((mark.args[0] for mark in item.iter_markers("patience")), 150) + self.config.getoption("soak")
        faulthandler.dump_traceback_later(patience, exit=True, file=sys.__stderr__)
        signal.alarm(patience + 10)  # also ends a process that hangs in an exit handler

    def pytest_runtest_logreport(self, report):
        with open(self.reports, "a") as file:
            print(json.dumps(self.config.hook.pytest_report_to_serializable(config=self.config, report=report)), file=file)


class Outside:
    """Starts the processes and prints a line for each check, below it what the check printed."""

    def __init__(self, config):
        self.config = config

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: item.get_closest_marker("alone") is not None)  # the others keep all workers busy first

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self.reports(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def reports(self, item):
        with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder, open(LOCK, "w") as lock, open(f"{folder}/output", "w+") as output:
            given = f"--inside={lock.fileno()}:{folder}/reports"
            options = [f"--{name}={value}" for name in ("backend", "soak", "tritonparse") if (value := self.config.getoption(name))]
            command = [sys.executable, "-u", "-m", "pytest", "-s", "-p", "no:terminal", f"--basetemp={folder}/tmp", given, *options, item.nodeid]
            process = subprocess.Popen(command, cwd=self.config.rootpath, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
                                       stdout=output, stderr=subprocess.STDOUT, pass_fds=[lock.fileno()], start_new_session=True)
            try:
                code = process.wait()
            finally:
                end_session(process)
                fcntl.flock(lock, fcntl.LOCK_UN)
            written = pathlib.Path(folder, "reports")
            lines = written.read_text().splitlines() if written.exists() else []
            reports = [self.config.hook.pytest_report_from_serializable(config=self.config, data=json.loads(line)) for line in lines]
            if code and not any(report.failed for report in reports):
                end = "ended by " + signal.Signals(-code).name if code < 0 else f"ended with {code}"
                reports.append(pytest.TestReport(item.nodeid, item.location, {}, "failed", f"the process of the check {end}", "call"))
            output.seek(0)
            next(filter(is_shown, reports)).sections.append(("Captured output", output.read()))
        return reports

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report):
        return (report.outcome, "", "") if is_shown(report) else None

    def pytest_runtest_logreport(self, report):
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or not is_shown(report):  # there is none in a worker of xdist
            return
        words = {"passed": "ok  ", "failed": "FAIL", "skipped": "skip"}
        terminal.write_line(f"{words[report.outcome]} {report.nodeid.split('::test_')[-1]} ({report.duration:.1f} s)")
        printed = report.longrepr[2] if report.skipped else dict(report.sections).get("Captured output", "")
        for line in [*printed.splitlines(), *(report.longreprtext.splitlines()[-12:] if report.failed else ())]:
            terminal.write_line("    " + line)  # pytest says more of failures at the end, if it gets there


def is_shown(report):
    """Of the reports of a check's set-up, call and end, those that say how it ended."""
    return report.when == "call" or not report.passed


def end_session(process):
    """Ends what the check's programs left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def pytest_addoption(parser):
    parser.addoption("--inside", metavar="FD:FILE", help="the process of one check: the lock, and where reports go")


def pytest_configure(config):
    given = config.getoption("--inside")
    config.pluginmanager.register(Inside(config, *given.split(":", 1)) if given else Outside(config))
