#!/usr/bin/env python3
"""Replays recorded conversations against homeostat and compares its answers with those of the real API server.

    replay.py [--program build/homeostat] [-v] [--diffs N] [--patience SECONDS] [NAME_OR_AREA ...]
    replay.py --update-pending [--allow-new]

README.md has the format of the scenarios. Steps that pending.txt names may fail; a step that fails and is not named there
fails the test. With STRICT=1 in the environment a step that is named and passes fails it too.
--update-pending takes the steps that pass out of pending.txt; only with --allow-new, new ones come in.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import random
import re
import sys
import threading
import time

import answers
import scenarios
from server import Homeostat

HERE = pathlib.Path(__file__).resolve().parent
PATCHES = {'json': 'application/json-patch+json', 'merge': 'application/merge-patch+json',
           'strategic': 'application/strategic-merge-patch+json', 'apply': 'application/apply-patch+yaml'}


class Conversation:
    """One scenario while it runs: its namespace, its variables, its background watches."""

    def __init__(self, connections, scenario, patience):
        self.connections, self.scenario, self.patience = connections, scenario, patience
        self.namespace = 'g' + ''.join(random.choices('bcdfghjkmnpqrstvwxz', k=6))
        self.variables = {'ns': self.namespace}
        self.normaliser = answers.Normaliser(self.namespace, connections.url.port)
        self.watches = {}
        for name, value in scenario.get('vars', {}).items():
            self.variables[name] = self.fill(value)

    def fill(self, value):
        """${name} and ${pad:N} replaced, in keys too; a value that is one variable keeps that one's type."""
        if isinstance(value, dict):
            return {self.fill(name): self.fill(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.fill(element) for element in value]
        if not isinstance(value, str):
            return value
        if whole := re.fullmatch(r'\$\{([\w-]+)\}', value):
            return self.variables[whole[1]]
        value = re.sub(r'\$\{pad:(\d+)\}', lambda m: 'x' * int(m[1]), value)
        return re.sub(r'\$\{([\w-]+)\}', lambda m: str(self.variables[m[1]]), value)

    def has_namespace(self):
        return self.scenario.get('namespace', True)

    def prepare(self):
        if not self.has_namespace():
            return
        objects = [('/api/v1/namespaces', 'Namespace', self.namespace),
                   (f'/api/v1/namespaces/{self.namespace}/serviceaccounts', 'ServiceAccount', 'default')]
        for path, kind, name in objects:
            body = json.dumps({'apiVersion': 'v1', 'kind': kind, 'metadata': {'name': name}})
            code, _, data = self.connections.request('POST', path, {'Content-Type': 'application/json'}, body)
            if code not in (201, 409):  # a controller may have been first
                raise RuntimeError(f'POST {path}: {code} {data[:200]!r}')

    def clean_up(self):
        """Takes away what the scenario left; what is gone already is no fault."""
        for step in self.scenario.get('cleanup', []):
            try:
                self.send({'do': step} if isinstance(step, str) else step)
            except KeyError:
                pass  # names something that was never captured
        if self.has_namespace():
            self.connections.request('DELETE', f'/api/v1/namespaces/{self.namespace}', {})

    def send(self, step):
        method, path = self.fill(step['do']).split(' ', 1)
        headers, body = dict(self.fill(step.get('headers', {}))), None
        if 'raw' in step:
            body = self.fill(step['raw']).encode()
        elif 'body' in step:
            body = json.dumps(self.fill(step['body']), separators=(',', ':')).encode()
        if 'patch' in step:
            headers.setdefault('Content-Type', PATCHES[step['patch']])
        elif body is not None:
            headers.setdefault('Content-Type', 'application/json')
        if 'as' in step:
            headers['Impersonate-User'] = self.fill(step['as'])
        if 'token' in step:
            headers['Authorization'] = 'Bearer ' + self.fill(step['token'])
        return self.connections.request(method, path, headers, body, step.get('anonymous', 'token' in step))

    def take(self, step, impatient):
        """Does the step; its answer, or None where there is none to compare. Impatient: it is not expected to succeed."""
        if 'sleep' in step:
            time.sleep(step['sleep'])
            return None
        if 'watch' in step or 'collect' in step:
            return self.watch(step)
        limit = min(step.get('timeout', 30), 1 if impatient else self.patience)
        end = time.monotonic() + limit
        while True:
            code, headers, data = self.send(step)
            body = decode(headers, data)
            if self.met(step.get('until', {}), code, body):
                break
            if time.monotonic() > end:
                raise TimeoutError(f"{limit} s without {step['until']}; the last answer: {code} {json.dumps(body)[-300:]}")
            time.sleep(0.1)
        for name, path in step.get('capture', {}).items():
            found, value = answers.look_up(body, path)
            if not found:
                raise LookupError(f'the answer (code {code}) has no {path}')
            self.variables[name] = value
            self.normaliser.captured[str(value)] = '${%s}' % name
        return self.answer(step, code, headers, data, body)

    def met(self, until, code, body):
        for path, wanted in self.fill(until).items():
            found, value = (True, code) if path == 'code' else answers.look_up(body, path)
            if wanted in ('<absent>', '<exists>'):
                if found != (wanted == '<exists>'):
                    return False
            elif not found or value != wanted:
                return False
        return True

    def watch(self, step):
        key = step.get('id', '')
        if 'watch' in step:
            wanted = self.fill(step['watch'])
            result = []

            def collect():
                try:
                    result.append(self.connections.watch(wanted['path'], step.get('headers', {}), wanted.get('count', 100),
                                                         wanted.get('seconds', 3)))
                except Exception as error:  # told by the step that collects
                    result.append(error)
            thread = threading.Thread(target=collect, daemon=True)
            thread.start()
            self.watches[key] = thread, result
            if key:
                time.sleep(0.3)  # so that it stands before the next step writes
                return None
        thread, result = self.watches.pop(step.get('collect', ''))
        thread.join(60)
        if not result:
            raise TimeoutError('the watch does not end')
        if isinstance(result[0], Exception):
            raise result[0]
        code, events = result[0]
        if isinstance(events, list) and not step.get('bookmarks'):
            events = [event for event in events if event.get('type') != 'BOOKMARK']
        return self.answer(step, code, None, b'', events)

    def answer(self, step, code, headers, data, body):
        """What is compared of an answer."""
        result = {'code': code}
        if headers and headers.get('Content-Type'):
            result['type'] = headers['Content-Type']
        if headers and (warnings := headers.get_all('Warning')):
            result['warning'] = [self.normaliser.text(warning) for warning in warnings]
        if step.get('show'):
            result['headers'] = {name: None if headers.get(name) is None else self.normaliser.text(headers[name])
                                 for name in step['show']}
        if step.get('record') == 'code':
            return result
        if 'bytes' in step:
            return {**result, 'bytes': data[:step['bytes']].hex()}
        if 'match' in step:
            text = data.decode('utf8', 'replace')
            return {**result, 'match': {pattern: bool(re.search(pattern, text, re.M)) for pattern in step['match']}}
        if step.get('record') == 'shape':
            return {**result, 'body': answers.shape(body, scenarios.merge)}
        return {**result, 'body': self.body(step, body)}

    def body(self, step, body):
        self.normaliser.keep_managed_fields = step.get('managedFields', False)
        body = self.normaliser.value(body)
        if not (isinstance(body, dict) and body.get('kind') == 'Status'):
            for path in step.get('drop', []):
                answers.remove(body, path)
        for path in step.get('unordered', []):
            found, value = answers.look_up(body, path)
            if found and isinstance(value, list):
                value.sort(key=lambda element: json.dumps(element, sort_keys=True))
        if 'only' not in step:
            return body
        looked_up = {path: answers.look_up(body, path) for path in step['only']}
        return {path: value if found else '<absent>' for path, (found, value) in looked_up.items()}


def decode(headers, data):
    text = data.decode('utf8', 'replace')
    try:
        return json.loads(data) if 'json' in headers.get('Content-Type', '') else text
    except ValueError:
        return text


class Tally:
    """What the steps came to, against pending.txt."""

    def __init__(self, pending, options):
        self.pending, self.options = pending, options
        self.passed, self.failing, self.now_passing = 0, [], []
        self.still_pending = 0
        self.crashes = 0

    def crashed(self, scenario, homeostat):
        """No list excuses this."""
        self.crashes += 1
        print(f"FAIL {scenario['name']}  the server ended with code {homeostat.process.returncode}\n{homeostat.log_end()}", flush=True)

    def count(self, name, problems):
        pending = name in self.pending
        if not problems:
            if pending:
                self.now_passing.append(name)
            else:
                self.passed += 1
            return
        if pending:
            self.still_pending += 1
        else:
            self.failing.append(name)
        if not pending or self.options.verbose:
            more = len(problems) - self.options.diffs
            print('pending' if pending else 'FAIL', name, ' ', '; '.join(problems[:self.options.diffs]),
                  f'(+{more} more)' if more > 0 else '', flush=True)


def play(connections, scenario, tally, options):
    recorded = json.loads((HERE / 'recorded' / f"{scenario['name']}.json").read_text())
    recorded = {answer['step']: answer for answer in recorded}
    conversation, trouble = Conversation(connections, scenario, options.patience), None
    try:
        conversation.prepare()
    except Exception as error:  # any fault here is the scenario's result
        trouble = f'preparing: {error}'
    for number, step in enumerate(scenario['steps'], 1):
        label = scenarios.label(number, step)
        name = f"{scenario['name']} :: {label}"
        try:
            if trouble:
                raise RuntimeError(trouble)
            answer = conversation.take(step, impatient=name in tally.pending)
        except Exception as error:  # as above: of the step
            tally.count(name, [f'{type(error).__name__}: {error}'])
            continue
        if answer is not None:
            tally.count(name, answers.differences(recorded.get(label), {'step': label, **answer}))
    try:
        conversation.clean_up()
    except OSError as error:
        print(f"note: {scenario['name']}: cleaning up: {error}", flush=True)


def play_all(chosen, tally, options):
    """Scenarios that need controllers get a server with them; the others one where nothing else writes."""
    for controllers in (False, True):
        some = [scenario for scenario in chosen if bool(scenario.get('controllers')) == controllers]
        flags = [] if controllers else ['--controllers=false', '--scheduler=false']
        while some:
            with Homeostat(options.program, *flags) as homeostat:
                some = play_on(homeostat, some, tally, options)


def play_on(homeostat, some, tally, options):
    """Plays until the server ends, which it never should; the scenarios that are left then."""
    connections = homeostat.connections()
    for number, scenario in enumerate(some):
        play(connections, scenario, tally, options)
        if not homeostat.alive():
            tally.crashed(scenario, homeostat)
            return some[number + 1:]
    return []


def read_pending(file):
    if not file.exists():
        return set()
    return {line.strip() for line in file.read_text().splitlines() if line.strip() and not line.startswith('#')}


def write_pending(file, names, order):
    head = ('# Steps whose answers still differ from the recorded ones: SCENARIO :: STEP. This list only shrinks;\n'
            '# replay.py --update-pending takes out what passes.\n')
    file.write_text(head + ''.join(name + '\n' for name in order if name in names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('chosen', nargs='*', help='names or areas of scenarios (* and ? fit anything); all if none')
    parser.add_argument('--program', default=HERE.parent.parent / 'build' / 'homeostat')
    parser.add_argument('--pending', type=pathlib.Path, default=HERE / 'pending.txt')
    parser.add_argument('--update-pending', action='store_true')
    parser.add_argument('--allow-new', action='store_true')
    parser.add_argument('--diffs', type=int, default=6, help='differences shown for a step')
    parser.add_argument('--patience', type=float, default=30, help='most seconds that a step may wait for something')
    parser.add_argument('-v', '--verbose', action='store_true', help='show how pending steps differ, too')
    options = parser.parse_args()

    every = scenarios.load(HERE / 'scenarios')
    order = [f"{scenario['name']} :: {scenarios.label(number, step)}" for scenario in every
             for number, step in enumerate(scenario['steps'], 1) if scenarios.answers(step)]
    pending = read_pending(options.pending)
    unknown = sorted(pending - set(order))
    for name in unknown:
        print(f'FAIL {name}  stands in {options.pending.name}, and no scenario has it')
    chosen = [scenario for scenario in every if not options.chosen or any(
        fnmatch.fnmatch(scenario[key], pattern) for key in ('name', 'area') for pattern in options.chosen)]
    tally = Tally(pending, options)
    play_all(chosen, tally, options)

    strict = os.environ.get('STRICT') == '1'
    for name in tally.now_passing:
        print('FAIL' if strict else 'note:', f'{name}  now passes, remove it from {options.pending.name}')
    if options.update_pending:
        names = (pending & set(order)) - set(tally.now_passing)
        write_pending(options.pending, names | set(tally.failing) if options.allow_new else names, order)
    failed = tally.crashes + len(tally.failing) + len(unknown) + (len(tally.now_passing) if strict else 0)
    print(f'{tally.still_pending} pending, {len(tally.now_passing)} pending that pass')
    print(f'{tally.passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
