#!/usr/bin/env python3
"""Counts test cases in the JUnit files of meson build folders given as arguments.

Lists skips with their reasons and failures with their first line; the last line is
`N passed, N failed, N skipped`. Exit status 1 if anything failed or nothing ran.
"""

import collections
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


def read_folder(folder, skips, failures):
    """Adds to `skips` (reason -> names) and `failures`; returns the number of passed cases."""
    try:
        root = ElementTree.parse(f"{folder}/meson-logs/testlog.junit.xml").getroot()
    except (OSError, ElementTree.ParseError) as error:
        failures.append(f"{folder}: no test results: {error}")
        return 0
    passed = 0
    for suite in root.iter("testsuite"):
        cases = suite.findall("testcase")
        # A crash or a time-out leaves a suite whose cases do not tell; the suite then counts.
        if int(suite.get("errors") or 0) and not any(
            case.find("failure") is not None or case.find("error") is not None for case in cases
        ):
            failures.append(f"{folder}: {suite.get('name')}: crashed or timed out")
        for case in cases:
            name = f"{folder}: {suite.get('name')}: {case.get('classname')}.{case.get('name')}"
            failure = case.find("failure")
            if failure is None:
                failure = case.find("error")
            if failure is not None:
                failures.append(f"{name}: {first_line(failure.get('message') or failure.text)}")
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                skipped = case.find("skipped")
                reason = skip_reason(skipped) if skipped is not None else "disabled"
                skips[reason].append(name)
            else:
                passed += 1
    return passed


def main():
    skips = collections.defaultdict(list)
    failures = []
    passed = 0
    for folder in sys.argv[1:]:
        found = read_folder(folder, skips, failures)
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
