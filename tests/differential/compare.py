#!/usr/bin/env python3
"""Sends the same random requests to homeostat and to a real kube-apiserver and compares the answers.

    compare.py --peer URL --peer-cert FILE --peer-key FILE --peer-ca FILE [--seed N] [--what SORT ...] [--count N | --requests N] [--kinds PATTERN ...] [--case N]
               [--program build/homeostat | --server URL --cert FILE --key FILE --ca FILE] [--out FILE]

README.md says how to have a peer and how to read what comes out. The exit code is 0 whatever differs: this finds faults, golden
holds them.
"""
import argparse
import collections
import fnmatch
import itertools
import json
import pathlib
import re
import sys
import threading
import time
import urllib.parse

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'golden'))

import answers  # noqa: E402
import bodies  # noqa: E402
import calls  # noqa: E402
import cases  # noqa: E402
import clients  # noqa: E402
import crds  # noqa: E402
import explained  # noqa: E402
import lists  # noqa: E402
import policies  # noqa: E402
import rights  # noqa: E402
import schemas  # noqa: E402
import space  # noqa: E402
import things  # noqa: E402
from server import Connections, Homeostat  # noqa: E402


SORTS = {'cases': cases.Case, 'lists': lists.Lists, 'bodies': bodies.Bodies, 'crds': crds.Definitions, 'calls': calls.Calls, 'policies': policies.Policies,
         'things': things.Things, 'clients': clients.Clients, 'rights': rights.Rights}
ASKED_AGAIN = 30
WALK = 'walk'  # not random, and so has an end: the usual walk over every seed


class Side:
    """One of the two servers."""

    def __init__(self, connections, namespace):
        self.connections, self.namespace = connections, namespace
        self.live = None
        self.remembered = {'rv': '1', 'continue': ''}
        self.normaliser = answers.Normaliser(namespace, connections.url.port)
        self.normaliser.keep_managed_fields = True

    def get(self, path):
        code, _, data = self.connections.request('GET', path, {})
        if code != 200:
            raise RuntimeError(f'GET {path}: {code} {data[:300]!r}')
        return json.loads(data)

    def send(self, request):
        """The normalised answer."""
        body = request.body(self.live) if callable(request.body) else request.body
        path = request.path
        for name, value in self.remembered.items():
            path = path.replace('${' + name + '}', urllib.parse.quote(value))
        for _ in range(50):
            code, headers, data = self.connections.request(request.method, path, request.headers, body.encode() if isinstance(body, str) else body)
            if code != 429:  # a changed definition's storage is made anew
                break
            time.sleep(0.1)
        decoded = decode(data, headers.get('Content-Type') or '')
        self.remember(decoded)
        if code in (200, 201) and isinstance(decoded, dict) and 'dryRun' not in request.path and decoded.get('kind') not in ('Status', 'Table', 'Scale') \
                and not str(decoded.get('kind')).endswith('List'):
            self.live = decoded
        warnings = [self.normaliser.text(warning) for warning in headers.get_all('Warning') or []]
        return {'code': code, 'type': headers.get('Content-Type'), 'warnings': warnings, 'body': self.normaliser.value(decoded)}


    def wait(self, request):
        """Until it is answered with 200, or as `until` wants it, twenty seconds at most."""
        body = request.body.encode() if request.body else None
        for _ in range(200):
            code, _, data = self.connections.request(request.method, request.path, request.headers, body)
            if request.until(code, data.decode('utf8', 'replace')) if callable(request.until) else code == 200:
                return
            time.sleep(0.1)
        print(f'{self.connections.url.netloc}: {request.method} {request.path} was not answered with 200 within ten seconds', file=sys.stderr)

    def remember(self, answer):
        """What later requests may name: the version and the place of a list."""
        metadata = answer.get('metadata') if isinstance(answer, dict) else None
        if not isinstance(metadata, dict) or answer.get('kind') == 'Status':
            return
        if isinstance(metadata.get('resourceVersion'), str):
            self.remembered['rv'] = metadata['resourceVersion']
        if isinstance(metadata.get('continue'), str):
            self.remembered['continue'] = metadata['continue']


def decode(data, media_type):
    """JSON, YAML, the events of a watch, or else the text; of what is binary, that it is."""
    if 'protobuf' in media_type or 'cbor' in media_type:
        return 'binary' if data.startswith(b'k8s\0') else 'frames' if data else ''
    text = data.decode('utf8', 'replace')
    try:
        if 'yaml' in media_type:
            return yaml.load(text, Plain)
        lines = text.splitlines()
        return json.loads(text) if len(lines) < 2 or not lines[1].startswith('{"type"') else [json.loads(line) for line in lines]
    except (ValueError, yaml.YAMLError):
        return text


class Plain(yaml.SafeLoader):
    """Times stay text."""


Plain.yaml_implicit_resolvers = {first: [(tag, fits) for tag, fits in rules if not tag.endswith(':timestamp')]
                                 for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def together(sides, work):
    """Runs work(side) for both at once; what they gave."""
    results = [None, None]

    def run(index):
        try:
            results[index] = work(sides[index])
        except Exception as error:  # becomes the answer of that side
            results[index] = {'code': 0, 'type': None, 'warnings': [], 'body': f'{type(error).__name__}: {error}'}
    thread = threading.Thread(target=run, args=(0,))
    thread.start()
    run(1)
    thread.join()
    return results


def pattern(text):
    """A message without what depends on the values in it."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '"…"', str(text))
    text = re.sub(r'\[[^\]]*\]', '[*]', text)
    text = re.sub(r'[{].*[}]', '{…}', text)
    return re.sub(r'-?\d+(?:\.\d+)?(?:e[+-]?\d+)?', 'N', text)[:200]


def causes(body):
    listed = (body.get('details') or {}).get('causes') or [] if isinstance(body, dict) else []
    return [(cause.get('field', ''), cause.get('reason', ''), cause.get('message', '')) for cause in listed]


def family(peer, ours):
    """(what differs in a few words, which more answers may share), or None."""
    if ours['code'] == 0 or peer['code'] == 0:
        return f"no answer: {pattern((ours if ours['code'] == 0 else peer)['body'])}"
    if peer['code'] != ours['code']:
        failed = peer if peer['code'] >= 400 else ours
        who = 'theirs' if failed is peer else 'ours'
        found = causes(failed['body'])
        what = f'{pattern(found[0][0])}: {pattern(found[0][2])}' if found else pattern((failed['body'] or {}).get('message', '') if isinstance(failed['body'], dict) else failed['body'])
        if peer['code'] >= 400 and ours['code'] >= 400 and isinstance(ours['body'], dict):
            what += ' | ours: ' + pattern(ours['body'].get('message', ''))
        return f"code {peer['code']} → {ours['code']} ({who}): {what}"
    if peer['body'] != ours['body']:
        theirs, mine = causes(peer['body']), causes(ours['body'])
        if sorted(theirs) != sorted(mine):
            missing = list((collections.Counter(theirs) - collections.Counter(mine)).elements())
            extra = list((collections.Counter(mine) - collections.Counter(theirs)).elements())
            words = []
            if missing:
                words.append(f'cause missing: {pattern(missing[0][0])}: {pattern(missing[0][2])}')
            if extra:
                words.append(f'cause too many: {pattern(extra[0][0])}: {pattern(extra[0][2])}')
            return ' | '.join(words)
        if theirs != mine:
            return 'order of causes'
        lines = answers.differences(peer['body'], ours['body'])
        if lines and lines[0].startswith('message: '):
            return f"message: {pattern(peer['body']['message'])} | ours: {pattern(ours['body']['message'])}"
        return 'body: ' + (re.sub(r'\[\d+\]', '[*]', lines[0].split('=')[0].split(': ')[0]) if lines else 'order of members')
    if peer['warnings'] != ours['warnings']:
        missing = [warning for warning in peer['warnings'] if warning not in ours['warnings']]
        extra = [warning for warning in ours['warnings'] if warning not in peer['warnings']]
        return f"warnings: missing {pattern(missing[0]) if missing else '-'} | too many {pattern(extra[0]) if extra else '-'}" + (
            '' if missing or extra else ' (order)')
    if peer['type'] != ours['type']:
        return f"type: {peer['type']} → {ours['type']}"
    return None


def decided_differently(peer, ours):
    return (peer['code'] < 300) != (ours['code'] < 300)


class Run:
    def __init__(self, sides, options, resources):
        self.sides, self.options, self.resources = sides, options, resources
        self.compared, self.explained = collections.Counter(), collections.Counter()
        self.found = collections.defaultdict(list)
        self.out = open(options.out, 'w') if options.out else None

    def prepare(self, namespace):
        head = {'Content-Type': 'application/json'}
        everything = [('/api/v1/namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': namespace}}),
                      (f'/api/v1/namespaces/{namespace}/serviceaccounts', {'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': 'default'}})]
        for resource in self.resources:
            if resource.seeds.get('shared'):
                for index in range(len(resource.seeds['objects'])):
                    body = cases.seed_object(resource, index, cases.shared_name(resource, index, namespace), namespace)
                    everything.append((resource.path(namespace + '-q' if resource.kind in ('ResourceQuota', 'LimitRange') else namespace), body))
        everything.insert(1, ('/api/v1/namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': namespace + '-q'}}))
        for side in self.sides:
            for path, body in everything:
                code, _, data = side.connections.request('POST', path, head, json.dumps(body))
                if code not in (201, 409):
                    print(f"note: {side.connections.url.netloc}: POST {path} {body['metadata']['name']}: {code} {data[:300].decode()}")

    def play(self, case, sort):
        resource_namespace = self.sides[0].namespace
        if case.resource.kind in ('ResourceQuota', 'LimitRange'):
            case.collection = case.resource.path(resource_namespace + '-q')
            case.path = f'{case.collection}/{case.name}'
        verbose = self.options.case is not None
        for side in self.sides:
            side.live = side.get(case.path) if case.shared and self.exists(side, case.path) else None
        for request in case.prepare():
            together(self.sides, lambda side: side.send(request))
        for request in case.requests():
            if request.until:
                together(self.sides, lambda side: side.wait(request))
                continue
            peer, ours, reason = self.answers(case.resource.kind, request)
            self.compared[sort] += 1
            if self.compared.total() % 1000 == 0 and self.options.requests:
                print(f'{self.compared.total()} requests, {sum(len(entries) for entries in self.found.values())} differ', file=sys.stderr, flush=True)
            self.explained.update([reason] if reason and peer == ours else [])
            what = family(peer, ours)
            if verbose:
                self.show(request, peer, ours, what)
            if what:
                self.record(sort, case, request, peer, ours, what)
            if reason == explained.upstream_panics.__name__:
                break  # ours may have stored what theirs has not
            if (decided_differently(peer, ours) and not case.goes_on) or (request.operation in ('create seed', 'create definition') and peer['code'] != 201):
                break
        for request in case.cleanup():
            together(self.sides, lambda side: side.send(request))

    def answers(self, kind, request):
        """Of both, without what is explained; and the explanation that made them equal, if one did."""
        for attempt in range(4):
            first, own = together(self.sides, lambda side: side.send(request))
            peer, ours, reason = explained.both(kind, request, first, own)
            if peer == ours:
                return peer, ours, reason or ('may_end_early' if attempt else None)
            if not explained.may_end_early(request):
                break
        if explained.without_effect(request, first, own):
            for _ in range(ASKED_AGAIN):
                again, same, _ = explained.both(kind, request, self.sides[0].send(request), own)
                if again == same:
                    return again, same, 'the peer itself answers so, too, when it is asked again'
        return peer, ours, None

    @staticmethod
    def exists(side, path):
        return side.connections.request('GET', path, {})[0] == 200

    def show(self, request, peer, ours, what):
        print(f'{request.operation}: {request.method} {request.path} {request.headers}')
        body = request.body(self.sides[0].live) if callable(request.body) else request.body
        print('  body:', body)
        print('  theirs:', peer['code'], peer['warnings'] or '', json.dumps(peer['body'], ensure_ascii=False)[:3000])
        if what:
            print('  ours:  ', ours['code'], ours['warnings'] or '', json.dumps(ours['body'], ensure_ascii=False)[:3000])
            print('  ', what)

    def record(self, sort, case, request, peer, ours, what):
        lines = answers.differences(peer, ours)
        entry = {'sort': sort, 'case': case.number, 'kind': case.resource.title, 'operation': request.operation, 'family': what, 'differences': lines[:12],
                 'request': f'{request.method} {request.path}', 'headers': request.headers, 'body': None if callable(request.body) else request.body}
        self.found[what].append(entry)
        if self.out:
            self.out.write(json.dumps(entry, ensure_ascii=False) + '\n')
            self.out.flush()

    def report(self):
        total, differing = sum(self.compared.values()), sum(len(entries) for entries in self.found.values())
        for what, entries in sorted(self.found.items(), key=lambda item: -len(item[1]))[:self.options.families]:
            kinds = collections.Counter(entry['kind'].split()[-1] for entry in entries)
            shown = ', '.join(f'{kind} {count}' for kind, count in kinds.most_common(5))
            print(f"{len(entries):5}  {what}\n         {shown}; e.g. {entries[0]['sort']} {entries[0]['case']} ({entries[0]['operation']})")
        for reason, count in self.explained.most_common():
            print(f'{count:5}  explained: {reason}')
        sorts = ', '.join(f'{sort} {count}' for sort, count in self.compared.items())
        print(f'{total} requests compared ({sorts}): {differing} differ, in {len(self.found)} families; {self.explained.total()} more are explained')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, text in (('peer', 'the real server'), ('server', 'homeostat, where one is running')):
        prefix = 'peer-' if name == 'peer' else ''
        parser.add_argument(f'--{name}', help=f'URL of {text}', required=name == 'peer')
        for file in ('cert', 'key', 'ca'):
            parser.add_argument(f'--{prefix}{file}')
    parser.add_argument('--program', default=HERE.parent.parent / 'build' / 'homeostat')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--first', type=int, default=0, help='number of the first case')
    parser.add_argument('--count', type=int, default=1000, help='how many cases of each sort')
    parser.add_argument('--requests', type=int, help='instead of that: go on, the sorts by turns, until so many requests were compared')
    parser.add_argument('--case', type=int, help='only this one, everything shown')
    parser.add_argument('--what', nargs='+', choices=sorted([*SORTS, WALK]), default=['cases'], help='the sorts of conversations')
    parser.add_argument('--kinds', nargs='*', default=['*'], help='patterns such as "apps/v1 *" or "* Pod"')
    parser.add_argument('--families', type=int, default=80, help='how many families to show')
    parser.add_argument('--out', help='a file for every difference, one JSON object a line')
    options = parser.parse_args()
    peer = Connections(urllib.parse.urlsplit(options.peer), options.peer_ca, options.peer_cert, options.peer_key)
    if options.server:
        run(peer, Connections(urllib.parse.urlsplit(options.server), options.ca, options.cert, options.key), options)
    else:
        with Homeostat(options.program, '--controllers=false', '--scheduler=false') as homeostat:
            try:
                run(peer, homeostat.connections(), options)
            finally:
                if not homeostat.alive():
                    print('homeostat ended:', homeostat.log_end())


def run(peer, ours, options):
    namespace = space.name(options.seed, alone=options.case is not None)
    sides = [Side(peer, namespace), Side(ours, namespace)]
    known = schemas.load(sides[0].get)
    seeds = all_seeds()
    chosen = []
    for title, resource in sorted(known.items()):
        resource.seeds = seeds.get(title)
        if resource.seeds and any(fnmatch.fnmatch(title, one) for one in options.kinds):
            chosen.append(resource)
    work = Run(sides, options, chosen)
    together(sides, lambda side: space.sweep(side.connections, known, namespace))  # of a run of this seed that was broken off
    try:
        work.prepare(namespace)
        play_all(work, options, namespace)
    finally:
        work.report()
        together(sides, lambda side: space.sweep(side.connections, known, namespace))


def all_seeds():
    """Seeds by kind; a kind may have some in more than one file."""
    seeds = {}
    for file in sorted((HERE / 'seeds').glob('*.json')):
        for entry in json.loads(file.read_text()):
            known = seeds.setdefault(entry['kind'], {'objects': []})
            known.update({name: value for name, value in entry.items() if name != 'objects'})
            known['objects'] += entry['objects']
    return seeds


def play_all(work, options, namespace):
    """All cases that were asked for, the sorts by turns."""
    if WALK in options.what:
        for resource in work.resources:
            for index in range(len(resource.seeds['objects'])):
                work.play(cases.Walk(resource, index, namespace), WALK)
    sorts = [sort for sort in options.what if sort != WALK]
    numbers = [options.case] if options.case is not None else itertools.count(options.first) if options.requests else \
        range(options.first, options.first + options.count)
    for number in numbers if sorts else []:
        for sort in sorts:
            work.play(SORTS[sort](options.seed, number, work.resources, namespace), sort)
            if options.requests and work.compared.total() >= options.requests:
                return


if __name__ == '__main__':
    main()
