#!/usr/bin/env python3
"""Runs conformance tests of some classes with e2e.test against a running cluster and compares with what is known to fail.

usage: run.py --e2e FILE --kubectl FILE --kubeconfig FILE --report DIRECTORY [--jobs N] [--test TEXT] [--pending [--update-pending]] CLASS...
       run.py --list [--test TEXT] CLASS...

tests.tsv says which test is of which class. pending.txt has those that don't pass yet, each with its reason; it only shrinks. They are not
run, since some would wait for ever, but with --pending: then they alone, each for some minutes at most.
Ends with the line "N passed, M failed".
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PENDING = HERE / "pending.txt"
# No nodes are waited for, and nothing is asked of a cluster that has none: see the e2e framework's BeforeSuite.
FLAGS = ["--provider=skeleton", "--num-nodes=0", "--allowed-not-ready-nodes=-1", "--minStartupPods=-1", "--dump-logs-on-failure=false",
         "--disable-log-dump=true", "--ginkgo.silence-skips", "--ginkgo.no-color", "--ginkgo.v",
         "--ginkgo.poll-progress-after=120s"]


def read_tests(classes, text):
    """(seconds, name) of the tests of these classes whose names have the text."""
    known, chosen = set(), []
    for line in (HERE / "tests.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        kind, seconds, name = line.split("\t")
        known.add(kind)
        if (kind in classes or "all" in classes) and text in name:
            chosen.append((int(seconds), name))
    unknown = set(classes) - known - {"all"}
    if unknown:
        sys.exit(f"no such class: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}, all")
    return chosen


def read_pending():
    """name: reason"""
    lines = PENDING.read_text().splitlines() if PENDING.exists() else []
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))


def share(tests, jobs):
    """The tests in `jobs` lists that take about the same time."""
    lists = [[0.0, []] for _ in range(jobs)]
    for seconds, name in sorted(tests, reverse=True):
        least = min(lists, key=lambda entry: entry[0])
        least[0] += seconds + 1
        least[1].append(name)
    return [names for _, names in lists if names]


class Run:
    """One process of e2e.test with some of the tests."""

    def __init__(self, options, names, label, timeout="3h"):
        self.names = names
        folder = options.report / label
        folder.mkdir(parents=True, exist_ok=True)
        self.report = folder / "report.json"
        self.report.unlink(missing_ok=True)
        focus = "(" + "|".join(re.escape(name) for name in names) + ")$"
        command = [options.e2e, f"--kubeconfig={options.kubeconfig}", f"--kubectl-path={options.kubectl}", *FLAGS,
                   f"--ginkgo.json-report={self.report}", f"--ginkgo.focus={focus}", f"--ginkgo.timeout={timeout}"]
        with open(folder / "e2e.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder)

    def results(self):
        """name: (state, seconds, message), once it has ended."""
        self.process.wait()
        found = {}
        if self.report.exists():
            for suite in json.loads(self.report.read_text()):
                for spec in suite["SpecReports"] or []:
                    name = " ".join([*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]])
                    message = spec.get("Failure", {}).get("Message", "").strip()
                    if spec["State"] != "skipped" or name in self.names:
                        found[name] = (spec["State"], spec["RunTime"] / 1e9, message)
            self.report.unlink()
        return {name: found.get(name, ("missing", 0.0, "e2e.test said nothing of it")) for name in self.names}


def run_all(options, tests):
    """Tests that mind others go alone, after the rest; so do those that may not end."""
    results = {}
    if options.pending:
        for i, (_, name) in enumerate(tests):
            results.update(Run(options, [name], f"pending-{i}", "6m").results())
        return results
    serial = [test for test in tests if "[Serial]" in test[1]]
    rest = [test for test in tests if test not in serial]
    runs = [Run(options, names, f"part-{i}") for i, names in enumerate(share(rest, options.jobs))]
    for run in runs:
        results.update(run.results())
    if serial:
        results.update(Run(options, [name for _, name in serial], "serial").results())
    return results


def write_pending(pending, results):
    """Those that pass now are taken out; none is added."""
    kept = {name for name in pending if results.get(name, ("",))[0] != "passed"}
    lines = [line for line in PENDING.read_text().splitlines() if line.startswith("#") or not line or line.split("\t", 1)[0] in kept]
    PENDING.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    for name in ("e2e", "kubectl", "kubeconfig"):
        parser.add_argument("--" + name)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="only print the tests' names")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--pending", action="store_true", help="the tests of pending.txt, and no others")
    parser.add_argument("--update-pending", action="store_true")
    parser.add_argument("--test", default="", help="only tests whose names have this text")
    parser.add_argument("classes", nargs="+")
    options = parser.parse_args()
    tests, pending = read_tests(options.classes, options.test), read_pending()
    if not tests:
        sys.exit(f"no test of these classes has the text {options.test!r} in its name")
    if options.list:
        print("\n".join(name for _, name in tests))
        return 0
    if not (options.e2e and options.kubectl and options.kubeconfig and options.report):
        parser.error("--e2e, --kubectl, --kubeconfig and --report are needed to run tests")
    options.report = options.report.resolve()
    left_out = 0 if options.pending else sum(name in pending for _, name in tests)
    tests = [test for test in tests if (test[1] in pending) == options.pending]
    start = time.monotonic()
    results = run_all(options, tests)
    passed = failed = 0
    for name, (state, seconds, message) in sorted(results.items()):
        if state == "passed":
            passed += 1
            if name in pending:
                print(f"passes now (take it out of pending.txt): {name}")
        else:
            failed += 1
            print(f"FAIL  {name}\n      {state} after {seconds:.0f} s: " + message[:600].replace("\n", "\n      "))
    if options.update_pending:
        write_pending(pending, results)
    print(f"{passed} of {len(tests)} conformance tests pass, {left_out} are known not to and were left out, in {time.monotonic() - start:.0f} s; logs: {options.report}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
