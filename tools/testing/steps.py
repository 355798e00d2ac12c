# SPDX-License-Identifier: Apache-2.0
"""Steps of tools/test, and the two lanes that they run in: those that compute and those that wait.

A step is a command whose output goes to a file of its own, or a set of tests that ctest runs. Each
lane runs one step at a time, in the order given. The lane that computes does so at nice 10, so that
the other one, whose tests look at clocks, gets the processor when it asks for it.
"""
import os
import re
import subprocess
import threading
import time
import xml.etree.ElementTree

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
LOGS = os.path.join(ROOT, "build/test-logs")
JOBS = len(os.sched_getaffinity(0))
COMPUTES, WAITS = "computes", "waits"
NICE = {COMPUTES: ["nice", "-n", "10"], WAITS: []}
TAIL = 120                      # lines shown of a step that failed
GRACE_S = 20                    # for a command that is told to end
LONGEST = 10                    # tests and steps named at the end


class Step:
    """A command. `needs`: steps that must have passed; `after`: steps that must have ended"""

    def __init__(self, name, command, lane=COMPUTES, needs=(), after=()):
        self.name, self.command, self.lane = name, command, lane
        self.needs, self.after = needs, after
        self.log = os.path.join(LOGS, f"{name}.log")
        self.state = None               # then "ok", "FAILED" or "left out"

    def counts(self, code):
        """passed, failed, skipped"""
        return (0, 1, 0) if code else (1, 0, 0)

    def note(self):
        return ""

    def timings(self, seconds):
        """[(seconds, what)]: what took how long"""
        return [(seconds, self.name)]


class Tests(Step):
    """The tests of a preset that ctest selects by `options`, `jobs` at a time; each counts"""

    def __init__(self, name, preset, options, lane=COMPUTES, jobs=JOBS, needs=(), after=()):
        self.junit = os.path.join(LOGS, f"{name}.xml")
        command = ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure",
                   "--no-tests=error", "--output-junit", self.junit, "-j", str(jobs), *options]
        super().__init__(name, command, lane, (f"build-{preset}", *needs), after)
        self.cases = []

    def read(self):
        """[(seconds, name, status, what it printed)] of the tests that ran"""
        try:
            suite = xml.etree.ElementTree.parse(self.junit).getroot()
        except (OSError, xml.etree.ElementTree.ParseError):
            return []
        return [(float(case.get("time", 0)), case.get("name"), case.get("status"),
                 "".join(case.itertext())) for case in suite.iter("testcase")]

    def counts(self, code):
        self.cases = self.read()
        passed = sum(status == "run" for _, _, status, _ in self.cases)
        failed = sum(status == "fail" for _, _, status, _ in self.cases)
        if code and not failed:         # no test at all, or none that ctest could run
            failed = 1
        return passed, failed, max(0, len(self.cases) - passed - failed)

    def note(self):
        passed = sum(status == "run" for _, _, status, _ in self.cases)
        skipped = {line for *_, text in self.cases for line in re.findall("SKIPPED: .*", text)}
        return "\n".join([f"{passed} of {len(self.cases)} passed", *sorted(skipped)])

    def timings(self, _seconds):
        return [(seconds, f"{self.name}: {name}") for seconds, name, *_ in self.cases]


class Run:
    """All steps of one call of tools/test"""

    def __init__(self, steps, limit_s=None):
        self.steps = {step.name: step for step in steps}
        self.lock = threading.Condition()
        self.passed = self.failed = self.skipped = 0
        self.took = []
        self.end = limit_s and time.monotonic() + limit_s

    def all(self, last=True):
        """runs the lanes beside each other; exit code. last: nothing comes after these steps"""
        os.makedirs(LOGS, exist_ok=True)
        lanes = [threading.Thread(target=self.lane, args=(lane,), daemon=True) for lane in NICE]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        if last or self.failed:
            self.sum_up()
        return 1 if self.failed else 0

    def lane(self, lane):
        for step in [step for step in self.steps.values() if step.lane == lane]:
            if self.ready(step):
                self.run(step)
            else:
                self.tell(step, "left out", 0, "what it needs has failed")

    def ready(self, step):
        """waits for the steps before this one; whether it can run"""
        here = [self.steps[n] for n in (*step.needs, *step.after) if n in self.steps]
        with self.lock:
            self.lock.wait_for(lambda: all(other.state for other in here))
        return all(self.steps[n].state == "ok" for n in step.needs if n in self.steps)

    def run(self, step):
        begun = time.monotonic()
        with open(step.log, "wb") as log:
            code = self.execute(NICE[step.lane] + step.command, log)
        seconds = time.monotonic() - begun
        passed, failed, skipped = step.counts(code)
        with self.lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped
            self.took += step.timings(seconds)
        self.tell(step, "FAILED" if code or failed else "ok", seconds, step.note())

    def execute(self, command, log):
        """exit code of a command; one that does not end in time is told to, then made to"""
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT)
        try:
            return process.wait(self.end and max(0, self.end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.write(b"\nthere was no time left\n")
        return 124

    def tell(self, step, state, seconds, note):
        """the line of a step, and the end of its output if it failed"""
        lines = [f"{state:<8} {step.name:<28} {seconds:4.0f} s  {note}".rstrip()]
        if state == "FAILED":
            with open(step.log, encoding="utf-8", errors="replace") as log:
                lines += ["    " + line.rstrip("\n") for line in log.readlines()[-TAIL:]]
        with self.lock:
            print("\n".join(lines), flush=True)
            step.state = state
            self.lock.notify_all()

    def sum_up(self):
        took = sorted(self.took, reverse=True)[:LONGEST]
        print("\nlongest:" + "".join(f"\n{seconds:6.1f} s  {what}" for seconds, what in took))
        line = f"{self.passed} passed, {self.failed} failed"
        print(line + (f", {self.skipped} skipped" if self.skipped else ""), flush=True)
