"""Where a suite's tests come from and how one package of them is run: Go modules, and Maven projects and Python tests of this folder.

Each class has `packages`, prepare(package) before the time is taken, run(package, folder), which gives an exit code, and
results(package, folder): {test: (state, message)} with states PASS, FAIL and SKIP. OSError: it can't be had or built.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent


def file_name(package):
    """A name for a package's files: its path without slashes."""
    return 'root' if package == '.' else package.replace('/', '_')


def run_limited(command, limit, log, **options):
    """The exit code of a command with its output in a file, -1 if it had to be ended; what it left running is ended, too."""
    with open(log, 'wb') as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, **options)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return -1
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


class GoSuite:
    """The tests of a Go module, from a copy of its source that can be built."""

    def __init__(self, options, name, module, changes, packages):
        self.options, self.packages = options, packages
        self.folder = options.work / name
        self.source = self.folder / 'source'
        self.env = dict(os.environ, GOFLAGS='-mod=mod -buildvcs=false')
        stamp, wanted = self.folder / 'complete', ' '.join([module, *changes])
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        place = json.loads(self.go('mod', 'download', '-json', module, cwd=self.folder))['Dir']
        # What the module cache holds can't be written to, and a build may have to add to go.sum.
        subprocess.run(['cp', '-r', '--no-preserve=mode', place, self.source], check=True)
        if changes:
            self.go('mod', 'edit', *changes)
        # The programs are in KUBEBUILDER_ASSETS: nothing is to be downloaded.
        for test in self.source.rglob('*_test.go'):
            text = test.read_text(errors='surrogateescape')
            if 'DownloadBinaryAssets:' in text:
                test.write_text(re.sub(r'(DownloadBinaryAssets:\s*)true', r'\1false', text), errors='surrogateescape')
        stamp.write_text(wanted)

    def go(self, *words, cwd=None):
        done = subprocess.run([self.options.go, *words], cwd=cwd or self.source, env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f'go {" ".join(words)}: {done.stderr.strip()[-2000:]}')
        return done.stdout

    def program(self, package):
        return self.folder / 'programs' / (file_name(package) + '.test')

    def prepare(self, package):
        path = self.program(package)
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            self.go('test', '-c', '-vet=off', '-o', str(path), './' + package)

    def run(self, package, folder):
        limit, test = self.options.limit, self.options.test
        command = [self.program(package), '-test.v=test2json', f'-test.timeout={limit}s']
        if any('ginkgo' in file.read_text(errors='replace') for file in (self.source / package).glob('*_test.go')):
            command += ['--ginkgo.no-color', f'--ginkgo.junit-report={folder / "specs.xml"}', f'--ginkgo.timeout={limit}s']
            if test:
                command.append(f'--ginkgo.focus={re.escape(test)}')
        elif test:
            command.append(f'-test.run={test}')
        scratch = folder / 'scratch'
        scratch.mkdir()
        # A machine that has other things to do, too, must not make the slower of two servers fail to start.
        env = dict(os.environ, KUBEBUILDER_ASSETS=str(self.options.assets), TMPDIR=str(scratch), KUBEBUILDER_CONTROLPLANE_START_TIMEOUT='120s')
        code = run_limited(command, limit + 60, folder / 'log', cwd=self.source / package, env=env)
        shutil.rmtree(scratch, ignore_errors=True)
        return code

    def results(self, package, folder):
        """Go tests that have no parts, and specs of Ginkgo."""
        found, runs_specs, current = {}, set(), None
        for line in (folder / 'log').read_text(errors='replace').splitlines():
            if match := re.match(r'\x16?=== (?:RUN|CONT|NAME)\s+(\S+)', line):
                current = match[1]
            elif line.startswith('Running Suite: '):
                runs_specs.add(current)
            elif match := re.match(r'\x16?\s*--- (PASS|FAIL|SKIP): (\S+) \(', line):
                found[match[2]] = (match[1], '')
        report = folder / 'specs.xml'
        if report.exists():
            found = {name: state for name, state in found.items() if name not in runs_specs}
            for case in xml.etree.ElementTree.parse(report).iter('testcase'):
                state = {'passed': 'PASS', 'skipped': 'SKIP', 'pending': 'SKIP'}.get(case.get('status'), 'FAIL')
                if case.get('name').startswith('[It]') or state == 'FAIL':
                    found[case.get('name').removeprefix('[It] ')] = (state, message_of(case))
        # One with parts says nothing that they don't, unless it is itself what fails.
        fails = {name for name, (state, _) in found.items() if state == 'FAIL'}
        whole = {name for name in found if any(other.startswith(name + '/') for other in found)
                 and not (name in fails and not any(other.startswith(name + '/') for other in fails))}
        return {name: state for name, state in found.items() if name not in whole}


def message_of(case):
    for kind in ('failure', 'error'):
        problem = case.find(kind)
        if problem is not None:
            return problem.get('message') or problem.text or ''
    return ''


def cases_of(report):
    """{test: (state, message)} of a JUnit report."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter('testcase'):
        failed = case.find('failure') is not None or case.find('error') is not None
        # A test that passed may fail once more in the end of what it stood on.
        if failed or case.get('name') not in found:
            found[case.get('name')] = ('FAIL' if failed else 'SKIP' if case.find('skipped') is not None else 'PASS', message_of(case))
    return found


class MavenSuite:
    """A Maven project of this folder whose tests use fabric8's kube-api-test, which looks for the programs in a folder of its own."""

    def __init__(self, options, name, project, changes, packages):
        self.options, self.packages = options, packages
        self.folder = options.work / name
        if shutil.which('mvn') is None:
            raise OSError('there is no mvn')
        self.source = self.folder / 'source'
        shutil.rmtree(self.source, ignore_errors=True)
        shutil.copytree(HERE / project, self.source)

    def mvn(self, goal, log, limit, **env):
        command = ['mvn', '-B', '-q', f'-Dmaven.repo.local={self.options.work / "maven"}', '-DargLine=-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', goal]
        return run_limited(command, limit, log, cwd=self.source, env=dict(os.environ, **env))

    def prepare(self, package):
        log = self.folder / 'build.log'
        if self.mvn('test-compile', log, self.options.limit):
            raise OSError(log.read_text(errors='replace')[-2000:])

    def run(self, package, folder):
        # The version of the folder's name is the only one there, so it is taken; the harness writes certificates beside it.
        programs = folder / 'programs'
        shutil.copytree(self.options.assets, programs / 'k8s' / '1.36.3-linux-amd64', symlinks=True)
        shutil.rmtree(self.source / 'target' / 'surefire-reports', ignore_errors=True)
        return self.mvn('test', folder / 'log', self.options.limit, KUBE_API_TEST_DIR=str(programs), HOME=str(folder))

    def results(self, package, folder):
        found = {}
        for report in (self.source / 'target' / 'surefire-reports').glob('*.xml'):
            found |= cases_of(report)
        return found


class PythonSuite:
    """Tests of a folder here, with what its requirements.txt says in an environment of their own; `programs` are Go programs that they call."""

    def __init__(self, options, name, project, programs, packages):
        self.options, self.packages, self.programs = options, packages, programs
        self.folder, self.source = options.work / name, HERE / project
        self.folder.mkdir(parents=True, exist_ok=True)
        self.environment = options.work / f'{project}-environment'
        stamp, wanted = self.environment / 'complete', (self.source / 'requirements.txt').read_text()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(self.environment, ignore_errors=True)
        self.call(sys.executable, '-m', 'venv', str(self.environment))
        self.call(str(self.environment / 'bin' / 'pip'), 'install', '-q', '--disable-pip-version-check', '-r', str(self.source / 'requirements.txt'))
        stamp.write_text(wanted)

    def call(self, *command, **env):
        done = subprocess.run(command, env=dict(os.environ, **env), capture_output=True, text=True)
        if done.returncode:
            raise OSError(f'{" ".join(command)}: {done.stderr.strip()[-2000:]}')

    def prepare(self, package):
        stamp, wanted = self.folder / 'programs' / 'complete', ' '.join(self.programs)
        if stamp.exists() and stamp.read_text() == wanted:
            return
        for program in self.programs:
            self.call(self.options.go, 'install', program, GOBIN=str(self.folder / 'programs'), GOFLAGS='-buildvcs=false')
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(wanted)

    def run(self, package, folder):
        command = [self.environment / 'bin' / 'pytest', '-q', '-p', 'no:cacheprovider', f'--junit-xml={folder / "report.xml"}', f'--basetemp={folder / "scratch"}',
                   self.source / f'{package}.py']
        if self.options.test:
            command += ['-k', self.options.test]
        env = dict(os.environ, KUBEBUILDER_ASSETS=str(self.options.assets), PYTHONDONTWRITEBYTECODE='1',
                   PATH=f'{self.folder / "programs"}:{os.environ["PATH"]}')
        return run_limited(command, self.options.limit, folder / 'log', cwd=self.source, env=env)

    def results(self, package, folder):
        report = folder / 'report.xml'
        return cases_of(report) if report.exists() else {}
