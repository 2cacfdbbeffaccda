#!/usr/bin/env python3
"""What one request costs the server in CPU time, beside a real kube-apiserver with its etcd.

    requests.py [--count N] [--threads T] [--homeostat PROGRAM] [--no-peer]

Both get the same requests over TLS and HTTP/1.1, one server after the other; both store on disk. What is counted is the time in user mode
and in the kernel of all processes of a server, less what they take at rest. Pods have 3 KB, custom resources 1 KB and five CEL rules.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, os.fspath(ROOT / 'tests/golden'))
from server import Homeostat  # noqa: E402
NAMESPACE = 'bench'
TICK = os.sysconf('SC_CLK_TCK')

DEFINITION = {
    'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': 'things.bench.example.com'},
    'spec': {
        'group': 'bench.example.com', 'scope': 'Namespaced', 'names': {'plural': 'things', 'singular': 'thing', 'kind': 'Thing'},
        'versions': [{'name': 'v1', 'served': True, 'storage': True, 'subresources': {'status': {}}, 'schema': {'openAPIV3Schema': {
            'type': 'object', 'properties': {
                'spec': {
                    'type': 'object', 'required': ['replicas'],
                    'x-kubernetes-validations': [
                        {'rule': 'self.minimum <= self.replicas && self.replicas <= self.maximum', 'message': 'replicas must be in range'},
                        {'rule': '!has(self.mode) || self.mode != "exact" || self.minimum == self.maximum'},
                        {'rule': 'self.parts.all(p, p.weight >= 0)'},
                        {'rule': 'self.parts.map(p, p.weight).sum() <= 100'},
                    ],
                    'properties': {
                        'replicas': {'type': 'integer', 'minimum': 0}, 'minimum': {'type': 'integer', 'default': 0},
                        'maximum': {'type': 'integer', 'default': 100},
                        'mode': {'type': 'string', 'enum': ['exact', 'loose'],
                                 'x-kubernetes-validations': [{'rule': 'self == oldSelf', 'message': 'mode is immutable'}]},
                        'parts': {'type': 'array', 'maxItems': 20, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'],
                                  'items': {'type': 'object', 'required': ['name'], 'properties': {
                                      'name': {'type': 'string', 'maxLength': 63}, 'weight': {'type': 'integer'},
                                      'text': {'type': 'string', 'maxLength': 100}}}}}},
                'status': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}}}]}}


def pod(name):
    def container(number):
        return {'name': f'container-{number}', 'image': f'registry.example.com/team/service-{number}:v1.2.{number}',
                'args': ['--listen=:8080', '--log-level=info', f'--shard={number}'],
                'env': [{'name': f'SETTING_{i}', 'value': f'value number {i} of {number}'} for i in range(8)],
                'ports': [{'name': f'port-{number}', 'containerPort': 8080 + number, 'protocol': 'TCP'}],
                'resources': {'requests': {'cpu': '100m', 'memory': '64Mi'}, 'limits': {'memory': '128Mi'}},
                'readinessProbe': {'httpGet': {'path': '/ready', 'port': 8080 + number}, 'periodSeconds': 5},
                'volumeMounts': [{'name': 'config', 'mountPath': '/etc/service'}, {'name': 'scratch', 'mountPath': '/scratch'}]}
    return {'apiVersion': 'v1', 'kind': 'Pod',
            'metadata': {'name': name, 'namespace': NAMESPACE, 'labels': {'app': 'bench', 'tier': 'backend', 'release': 'stable'},
                         'annotations': {'example.com/owner': 'team', 'example.com/revision': '0'}},
            'spec': {'containers': [container(i) for i in range(3)],
                     'automountServiceAccountToken': False,
                     'nodeSelector': {'kubernetes.io/os': 'linux', 'example.com/pool': 'bench'},
                     'tolerations': [{'key': 'example.com/pool', 'operator': 'Exists', 'effect': 'NoSchedule'}],
                     'volumes': [{'name': 'config', 'configMap': {'name': 'config'}}, {'name': 'scratch', 'emptyDir': {}}]}}


def thing(name):
    return {'apiVersion': 'bench.example.com/v1', 'kind': 'Thing',
            'metadata': {'name': name, 'namespace': NAMESPACE, 'labels': {'app': 'bench'}, 'annotations': {'example.com/revision': '0'}},
            'spec': {'replicas': 3, 'minimum': 1, 'maximum': 9, 'mode': 'loose',
                     'parts': [{'name': f'part-{i}', 'weight': 10, 'text': f'the text of part number {i}, of some length'} for i in range(8)]}}


class Server:
    def __init__(self, url, ca, certificate, key, processes):
        self.url, self.processes = url, processes
        self.context = ssl.create_default_context(cafile=ca)
        self.context.load_cert_chain(certificate, key)

    @classmethod
    def of(cls, homeostat):
        pki = homeostat.directory / 'data/pki'
        return cls(homeostat.url, pki / 'ca.crt', pki / 'admin.crt', pki / 'admin.key', [homeostat.process.pid])

    def connect(self):
        return http.client.HTTPSConnection(self.url.hostname, self.url.port, context=self.context, timeout=60)

    def cpu(self):
        """Seconds that the processes have used."""
        total = 0
        for pid in self.processes:
            fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICK

    def resident(self):
        return sum(int(re.search(r'VmRSS:\s+(\d+)', pathlib.Path(f'/proc/{pid}/status').read_text())[1]) for pid in self.processes) / 1024


def call(connection, method, path, body=None, content_type='application/json'):
    connection.request(method, path, body, {'Content-Type': content_type, 'User-Agent': 'bench/1.0'})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f'{method} {path}: {answer.status} {text[:400]!r}')
    return text


def in_threads(count, work):
    """Runs work(number of the thread) in so many threads; what fails in one of them fails here."""
    failed = []

    def run(number):
        try:
            work(number)
        except Exception as error:
            failed.append(error)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]


def prepare(connection, definition, controllers):
    """The namespace with its service account, which pods need, and the custom kind that the definition defines."""
    call(connection, 'POST', '/api/v1/namespaces', json.dumps({'metadata': {'name': NAMESPACE}}))
    if controllers:
        time.sleep(2)  # until the namespace has its service account
    else:
        call(connection, 'POST', f'/api/v1/namespaces/{NAMESPACE}/serviceaccounts', json.dumps({'metadata': {'name': 'default'}}))
    call(connection, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', json.dumps(definition))
    spec = definition['spec']
    for _ in range(100):
        try:
            call(connection, 'GET', f'/apis/{spec["group"]}/v1/namespaces/{NAMESPACE}/{spec["names"]["plural"]}')
            break
        except RuntimeError:
            time.sleep(0.1)


class Work:
    """The requests about one kind: a list of (name of the operation, request of object N)."""

    def __init__(self, make, collection, strategic):
        self.make, self.collection = make, collection
        self.operations = ['create', 'get', 'update', 'merge patch'] + (['strategic merge'] if strategic else []) + ['apply']

    def prepare(self, operation, number, rest):
        name = f'object-{number}'
        path = f'{self.collection}/{name}'
        annotation = {'metadata': {'annotations': {'example.com/revision': operation}}}
        if operation == 'create':
            return 'POST', self.collection, json.dumps(self.make(name)), 'application/json'
        if operation == 'get':
            return 'GET', path, None, 'application/json'
        if operation == 'update':
            changed = json.loads(rest)
            changed['metadata']['annotations']['example.com/revision'] = operation
            return 'PUT', path, json.dumps(changed), 'application/json'
        if operation == 'apply':
            applied = self.make(name)
            applied['metadata']['annotations']['example.com/revision'] = operation
            return 'PATCH', path + '?fieldManager=bench-apply&force=true', json.dumps(applied), 'application/apply-patch+yaml'
        kind = 'strategic-merge-patch' if operation == 'strategic merge' else 'merge-patch'
        return 'PATCH', path, json.dumps(annotation), f'application/{kind}+json'


def measure(server, work, count, threads, rest):
    """CPU seconds per request of every operation."""
    found, current = {}, {}
    for operation in work.operations:
        requests = [[work.prepare(operation, number, current.get(number)) for number in range(first, count, threads)] for first in range(threads)]
        connections = [server.connect() for _ in range(threads)]
        for connection in connections:
            connection.connect()  # handshakes are no part of a request

        def send(first):
            connection = connections[first]
            for number, request in zip(range(first, count, threads), requests[first]):
                answer = call(connection, *request)
                if operation == 'get':
                    current[number] = answer
            connection.close()

        before, begin = server.cpu(), time.monotonic()
        in_threads(threads, send)
        found[operation] = (server.cpu() - before - rest * (time.monotonic() - begin)) / count
    return found


def run(server, count, threads):
    prepare(server.connect(), DEFINITION, controllers=False)
    things = f'/apis/bench.example.com/v1/namespaces/{NAMESPACE}/things'
    time.sleep(3)
    before, begin = server.cpu(), time.monotonic()
    time.sleep(5)
    rest = (server.cpu() - before) / (time.monotonic() - begin)
    pods = Work(pod, f'/api/v1/namespaces/{NAMESPACE}/pods', True)
    customs = Work(thing, things, False)
    warm = Work(lambda name: pod('warm-' + name), pods.collection, True)
    warm.operations = ['create']
    measure(server, warm, count // 4, threads, rest)
    results = {}
    for name, work in (('pod', pods), ('custom resource', customs)):
        for operation, seconds in measure(server, work, count, threads, rest).items():
            results[f'{name}: {operation}'] = seconds
    return results, server.resident()


def free_ports(count):
    """The first of so many ports in a row that nobody listens on."""
    for _ in range(100):
        first = random.randrange(20000, 32000)
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(('127.0.0.1', port))
            return first
        except OSError:
            continue
    sys.exit(f'no {count} ports in a row are free')


class Peer:
    def __init__(self, folder, port):
        self.folder = folder
        started = subprocess.run([ROOT / 'tests/differential/peer.sh', 'up', folder, str(port)], stdout=subprocess.PIPE, text=True, check=True)
        words = started.stdout.split()
        options = dict(zip(words[::2], words[1::2]))
        pids = [int(pathlib.Path(folder, f'{name}.pid').read_text()) for name in ('apiserver', 'etcd')]
        self.server = Server(urllib.parse.urlsplit(options['--peer']), options['--peer-ca'], options['--peer-cert'], options['--peer-key'], pids)

    def __enter__(self):
        return self.server

    def __exit__(self, *_):
        subprocess.run([ROOT / 'tests/differential/peer.sh', 'down', self.folder], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--count', type=int, default=2000, help='requests of every sort')
    parser.add_argument('--threads', type=int, default=16)
    parser.add_argument('--homeostat', default=str(ROOT / 'build/homeostat'))
    parser.add_argument('--port', type=int, help='of the real server, etcd takes the two above it; free ones without it')
    parser.add_argument('--no-peer', action='store_true')
    options = parser.parse_args()
    print(f'a pod has {len(json.dumps(pod("object-1")))} bytes, a custom resource {len(json.dumps(thing("object-1")))}')
    folder = tempfile.mkdtemp(prefix='homeostat-bench-')
    try:
        with Homeostat(options.homeostat, '--controllers', 'false', '--scheduler', 'false', store='rocksdb') as homeostat:
            server = Server.of(homeostat)
            ours, our_memory = run(server, options.count, options.threads)
        theirs, their_memory = {}, 0
        if not options.no_peer:
            with Peer(os.path.join(folder, 'peer'), options.port or free_ports(3)) as server:
                theirs, their_memory = run(server, options.count, options.threads)
    except subprocess.CalledProcessError:
        print('the real server could not be started, see above; the figures stand alone', file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f'{"CPU per request, µs":34}{"homeostat":>12}' + (f'{"kube-apiserver + etcd":>24}{"ratio":>8}' if theirs else ''))
    for name, seconds in ours.items():
        line = f'{name:34}{seconds * 1e6:12.0f}'
        if theirs:
            line += f'{theirs[name] * 1e6:24.0f}{theirs[name] / seconds:8.1f}'
        print(line)
    print(f'{"resident at the end, MiB":34}{our_memory:12.0f}' + (f'{their_memory:24.0f}{their_memory / our_memory:8.1f}' if theirs else ''))
    return 0 if theirs or options.no_peer else 1


if __name__ == '__main__':
    sys.exit(main())
