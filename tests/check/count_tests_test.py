#!/usr/bin/env python3
"""tools/count_tests.py on results as meson 1.0 writes them. Usage: count_tests_test.py PROGRAM"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())

PASSED = '<testcase name="{0}" classname="S" status="run" time="0"/>'


def gtest_suite(program, cases):
    return f'<testsuite name="modeld.{program}.S" tests="1" errors="0">{cases}</testsuite>'


def other_suite(cases):
    return f'<testsuite name="modeld" tests="1" errors="0">{cases}</testsuite>'


def run(name, result, code, output=""):
    return {"name": name, "result": result, "returncode": code, "duration": 2.0, "stdout": output}


class Counting(unittest.TestCase):
    def count(self, suites, runs):
        with tempfile.TemporaryDirectory() as folder:
            logs = pathlib.Path(folder, "build/meson-logs")
            logs.mkdir(parents=True)
            (logs / "testlog.junit.xml").write_text(f"<testsuites>{suites}</testsuites>")
            (logs / "testlog.json").write_text("\n".join(json.dumps(line) for line in runs))
            return self.count_in(folder, "build")

    def count_in(self, folder, argument):
        done = subprocess.run(
            [sys.executable, PROGRAM, argument], cwd=folder, capture_output=True, text=True,
            timeout=20, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def test_cases_are_counted(self):
        skipped = (
            '<testcase name="Off" classname="S" status="run"><skipped '
            'message="../a_test.cpp:7&#10;no GPU here"/></testcase>')
        suites = gtest_suite("ipc", PASSED.format("A") + PASSED.format("B") + skipped)
        code, lines = self.count(suites, [run("ipc", "OK", 0)])
        self.assertEqual(lines[-1], "2 passed, 0 failed, 1 skipped")
        self.assertIn("SKIPPED build: modeld.ipc.S: S.Off: no GPU here", lines)
        self.assertEqual(code, 0)

    def test_a_failed_case_counts_once(self):
        failed = (
            '<testcase name="B" classname="S" status="run"><failure message="x_test.cpp:3"/>'
            "</testcase>")
        suites = gtest_suite("modeld / ipc", PASSED.format("A") + failed)
        code, lines = self.count(suites, [run("modeld / ipc", "FAIL", 1)])
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")
        self.assertEqual(code, 1)

    def test_a_program_that_timed_out_has_failed(self):
        # Its one case in the JUnit file carries neither failure nor error.
        suites = other_suite('<testcase name="modeld / ipc" classname="modeld" time="2"/>')
        code, lines = self.count(suites, [run("modeld / ipc", "TIMEOUT", -15, "[ RUN ] S.Long")])
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")
        self.assertIn("FAILED build: ipc: timed out after 2 s", lines)
        self.assertIn("[ RUN ] S.Long", lines)
        self.assertEqual(code, 1)

    def test_a_crash_tells_how_and_where(self):
        suites = other_suite('<testcase name="ipc" classname="modeld"><error/></testcase>')
        code, lines = self.count(suites, [run("ipc", "ERROR", -6, "SUMMARY: stack-overflow")])
        self.assertIn("FAILED build: ipc: killed by SIGABRT", lines)
        self.assertIn("SUMMARY: stack-overflow", lines)
        self.assertEqual(code, 1)

    def test_a_program_that_fails_after_its_cases_has_failed(self):
        # A leak found at the end.
        suites = gtest_suite("ipc", PASSED.format("A"))
        code, lines = self.count(suites, [run("ipc", "FAIL", 1, "LeakSanitizer: detected")])
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")
        self.assertIn("FAILED build: ipc: exit status 1", lines)
        self.assertEqual(code, 1)

    def test_a_script_counts_as_one(self):
        suites = other_suite('<testcase name="units" classname="modeld" time="0"/>')
        code, lines = self.count(suites, [run("units", "OK", 0)])
        self.assertEqual(lines[-1], "1 passed, 0 failed, 0 skipped")
        self.assertEqual(code, 0)

    def count_tap(self, text):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "vm.tap").write_text(text)
            return self.count_in(folder, "vm.tap")

    def test_tap_cases_are_counted(self):
        code, lines = self.count_tap(
            "noise\nok 1 - a\nok 2 - b # SKIP no card\nok 3 - c\n#   detail\n1..3\n")
        self.assertEqual(lines[-1], "2 passed, 0 failed, 1 skipped")
        self.assertIn("SKIPPED vm.tap: 2 - b: no card", lines)
        self.assertEqual(code, 0)

    def test_tap_failures_and_broken_plans_are_failures(self):
        code, lines = self.count_tap("ok 1 - a\nnot ok 2 - b\n1..2\n")
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")
        self.assertIn("FAILED vm.tap: 2 - b", lines)
        self.assertEqual(code, 1)
        code, lines = self.count_tap("ok 1 - a\nok 2 - b\n")
        self.assertEqual(lines[-1], "2 passed, 1 failed, 0 skipped")
        code, lines = self.count_tap("ok 1 - a\n1..7\n")
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_tap_of_nothing_says_why(self):
        _, lines = self.count_tap("1..0 # SKIP not root\n")
        self.assertEqual(lines[-1], "0 passed, 0 failed, 1 skipped")
        self.assertIn("SKIPPED vm.tap: all of it: not root", lines)

    def test_nothing_run_is_a_failure(self):
        code, lines = self.count("", [])
        self.assertEqual(lines[-1], "0 passed, 0 failed, 0 skipped")
        self.assertEqual(code, 1)

    def test_no_results_are_a_failure(self):
        done = subprocess.run(
            [sys.executable, PROGRAM, "/nonexistent"], capture_output=True, text=True, timeout=20,
            check=False)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped")
        self.assertEqual(done.returncode, 1)


unittest.main()
