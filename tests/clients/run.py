#!/usr/bin/env python3
"""Runs the test suites of other programs against homeostat in the place of kube-apiserver and etcd, as their authors run them.

usage: run.py --assets DIRECTORY --work DIRECTORY --go FILE [--label NAME] [--test TEXT] [SUITE[/PACKAGE]...]

suites.tsv says which module has which suite, and which of its packages start a server. A Go suite's tests come with its module, so
what runs is the text that its authors published; only replacements in go.mod that name folders outside of it are dropped, and downloads of kube-apiserver.
known.tsv has the tests that fail for reasons that lie in the suite or the machine, each with its reason (* is any text); they don't count.
--assets is a folder for KUBEBUILDER_ASSETS. The figures of a run are kept in figures.tsv of the work folder under its label, so that a run
with the real programs can stand beside; logs and reports lie there, too. Ends with the line "N passed, M failed".
"""
import argparse
import fnmatch
import pathlib
import shutil
import sys
import time

from suites import HERE, GoSuite, MavenSuite, PythonSuite, file_name


def rows(name):
    """The lines of a table of this folder, split at tabs."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split('\t') for line in lines if line and not line.startswith('#')]


def chosen(wanted):
    """(suite, kind, source, changes, packages) of all suites, or of those that were asked for."""
    table = {row[0]: (row[0], row[1], row[2], row[3].split(), row[4].split()) for row in rows('suites.tsv')}
    found = []
    for name in wanted or table:
        suite, _, package = name.partition('/')
        if suite not in table or (package and package not in table[suite][4]):
            sys.exit(f'no such suite or package: {name}; there are ' + ', '.join(table))
        found.append((*table[suite][:4], [package] if package else table[suite][4]))
    return found


def keep(options, suite, package, seconds, passed, failed):
    """Writes the figures of a run into the table of the work folder, in place of older ones of the same label."""
    path = options.work / 'figures.tsv'
    lines = path.read_text().splitlines() if path.exists() else []
    lines = [line for line in lines if line.split('\t')[:3] != [suite, package, options.label]]
    lines.append('\t'.join([suite, package, options.label, f'{seconds:.1f}', str(passed), str(failed)]))
    path.write_text('\n'.join(sorted(lines)) + '\n')


def reason_of(known, suite, package, test):
    """Why a failure of the test doesn't count; None if it does."""
    return next((reason for its_suite, its_package, pattern, reason in known
                 if (its_suite, its_package) == (suite, package) and fnmatch.fnmatchcase(test, pattern)), None)


def run_package(options, name, suite, package, known):
    """(passed, failed) of one package, which is also told of."""
    suite.prepare(package)
    folder = suite.folder / options.label / file_name(package)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    begin = time.monotonic()
    code = suite.run(package, folder)
    seconds = time.monotonic() - begin
    found = suite.results(package, folder)
    passed = sum(state == 'PASS' for state, _ in found.values())
    bad = {test: message for test, (state, message) in found.items() if state == 'FAIL'}
    if code and not bad:
        bad['(the package as a whole)'] = f'exit code {code}, see {folder}/log'
    reasons = {test: reason_of(known, name, package, test) for test in bad}
    failed = sum(reason is None for reason in reasons.values())
    if not options.test:
        keep(options, name, package, seconds, passed, failed)
    print(f'{"FAIL " if failed else "ok   "} {name}/{package}  {passed} passed, {failed} failed, {len(bad) - failed} known, {seconds:.1f} s', flush=True)
    for test, message in bad.items():
        print(f'      {"FAIL  " if reasons[test] is None else "known "}{test}  {reasons[test] or " ".join(message.split())[:300]}', flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--assets', type=pathlib.Path, required=True)
    parser.add_argument('--work', type=pathlib.Path, required=True)
    parser.add_argument('--go', default='go')
    parser.add_argument('--label', default='homeostat')
    parser.add_argument('--test', default='', help='only the tests whose names have this')
    parser.add_argument('--limit', type=int, default=900, help='seconds that a package may take')
    parser.add_argument('wanted', nargs='*')
    options = parser.parse_args()
    options.assets, options.work = options.assets.resolve(), options.work.resolve()
    known = rows('known.tsv')
    passed = failed = 0
    for name, kind, source, changes, packages in chosen(options.wanted):
        try:
            suite = {'go': GoSuite, 'maven': MavenSuite, 'python': PythonSuite}[kind](options, name, source, changes, packages)
        except OSError as error:
            print(f'skipped: {name}: {error}', flush=True)
            continue
        for package in packages:
            try:
                good, bad = run_package(options, name, suite, package, known)
            except OSError as error:
                print(f'skipped: {name}/{package}: {error}', flush=True)
                continue
            passed, failed = passed + good, failed + bad
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed != 0)


if __name__ == '__main__':
    main()
