#!/usr/bin/env python3
"""Counts test cases in the results of meson build folders, and in .tap files, given as arguments.

Lists skips with their reasons and failures with their first line, and shows the end of what a
program wrote that crashed or timed out; the last line is `N passed, N failed, N skipped`. Exit
status 1 if anything failed or nothing ran.
"""

import collections
import json
import re
import signal
import sys
import xml.etree.ElementTree as ElementTree


def first_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[0] if lines else "no message"


def skip_reason(skipped):
    """GoogleTest writes `file:line` first and the reason after it."""
    text = skipped.get("message") or skipped.text or ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reasons = [line for line in lines if not line.endswith("Skipped") and ".cpp:" not in line]
    return reasons[0] if reasons else first_line(text)


def ending(run):
    """How a program ended, as meson saw it."""
    code = run.get("returncode")
    if run["result"] == "TIMEOUT":
        return f"timed out after {run['duration']:.0f} s"
    if code is None:
        return run["result"]
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"


def short(name):
    """meson writes `project / test` where it was given the names of tests to run."""
    return name.split(" / ")[-1]


def program_of(suite):
    """The test program of a GoogleTest suite, which meson names `project.program.suite`."""
    return short(suite.get("name").partition(".")[2]).split(".")[0]


def last_lines(run, count=30):
    text = (run.get("stdout") or "") + "\n" + (run.get("stderr") or "")
    return [line for line in text.splitlines() if line.strip()][-count:]


def read_cases(root, folder, skips, failures):
    """Cases that tell how they went. Returns how many passed and the programs with a failed one."""
    passed = 0
    told = set()
    for suite in root.iter("testsuite"):
        program = program_of(suite)
        for case in suite.findall("testcase"):
            name = f"{folder}: {suite.get('name')}: {case.get('classname')}.{case.get('name')}"
            failure = case.find("failure")
            if failure is not None:
                failures.append(f"{name}: {first_line(failure.get('message') or failure.text)}")
                told.add(program)
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                skipped = case.find("skipped")
                reason = skip_reason(skipped) if skipped is not None else "disabled"
                skips[reason].append(name)
            else:
                passed += 1
    return passed, told


def read_folder(folder, skips, failures):
    """Adds to `skips` (reason -> names) and `failures`; returns the number of passed cases."""
    logs = f"{folder}/meson-logs/testlog"
    try:
        root = ElementTree.parse(f"{logs}.junit.xml").getroot()
        with open(f"{logs}.json", encoding="utf-8") as lines:
            runs = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError, ElementTree.ParseError) as error:
        failures.append(f"{folder}: no test results: {error}")
        return 0
    # A program that crashed or timed out has one case in the JUnit file, which may not tell.
    silent = {short(run["name"]): run for run in runs if run["result"] not in ("OK", "SKIP")}
    for suite in root.iter("testsuite"):
        for case in suite.findall("testcase"):
            if short(case.get("name")) in silent and case.get("classname") == suite.get("name"):
                suite.remove(case)
    passed, told = read_cases(root, folder, skips, failures)
    for name, run in silent.items():
        if name not in told:
            failures.append(f"{folder}: {name}: {ending(run)}")
            print(f"-- {folder}: the last lines of {name}, {ending(run)}:")
            print("\n".join(last_lines(run)))
    return passed


def read_tap(path, skips, failures):
    """The same for a file of the Test Anything Protocol. A plan that is not kept is a failure."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
    except OSError as error:
        failures.append(f"{path}: no test results: {error}")
        return 0
    cases = [line for line in lines if re.match(r"(not )?ok\b", line)]
    plan = next((line for line in lines if re.match(r"1\.\.\d+", line)), "")
    passed = 0
    for case in cases:
        name, _, reason = case.partition(" # SKIP")
        if case.startswith("not"):
            failures.append(f"{path}: {case.partition('not ok ')[2] or 'not ok'}")
        elif reason:
            skips[reason.strip()].append(f"{path}: {name.partition('ok ')[2]}")
        else:
            passed += 1
    if plan.startswith("1..0"):
        skips[plan.partition("# SKIP")[2].strip() or "no reason given"].append(f"{path}: all of it")
    elif not plan or int(plan[3:].split()[0]) != len(cases):
        failures.append(f"{path}: {len(cases)} cases ran, planned: {plan or 'nothing'}")
    return passed


def main():
    skips = collections.defaultdict(list)
    failures = []
    passed = 0
    for folder in sys.argv[1:]:
        read = read_tap if folder.endswith(".tap") else read_folder
        found = read(folder, skips, failures)
        print(f"{folder}: {found} passed")
        passed += found
    for reason, names in sorted(skips.items()):
        for name in names:
            print(f"SKIPPED {name}: {reason}")
    for failure in failures:
        print(f"FAILED {failure}")
    skipped = sum(len(names) for names in skips.values())
    print(f"{passed} passed, {len(failures)} failed, {skipped} skipped")
    return 1 if failures or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
