#!/usr/bin/env python3
"""What a stored object costs the server in resident memory: a custom resource of 1 KB, or a pod of 3 KB.

    memory.py [--count N] [--kind custom|pod] [--store memory|rocksdb|both] [--controllers] [--rest SECONDS] [--homeostat PROGRAM]

Fills a server with objects, lets it rest, lists them all at once, lets it rest again. What is shown per object is what was added since
the first few hundred, so that what a kind costs once is not in it; the ratio is to the bytes of the object as it is answered.
"""
import argparse
import json
import os
import sys
import time

from requests import NAMESPACE, ROOT, Server, call, in_threads, pod, prepare  # the module beside this one

sys.path.insert(0, os.fspath(ROOT / 'tests/golden'))
from server import Homeostat  # noqa: E402

WARM = 500
THREADS = 8
DEFINITION = {
    'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': 'widgets.bench.example.com'},
    'spec': {'group': 'bench.example.com', 'scope': 'Namespaced', 'names': {'plural': 'widgets', 'kind': 'Widget'},
             'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {
                 'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}]}}


def widget(name):
    return {'apiVersion': 'bench.example.com/v1', 'kind': 'Widget', 'metadata': {'name': name, 'labels': {'app': 'web'}},
            'spec': {'image': 'registry.example/web:1.' + name,
                     'items': [{'name': f'item-{i}', 'value': 'x' * 20, 'count': i} for i in range(9)]}}


KINDS = {'custom': (widget, f'/apis/bench.example.com/v1/namespaces/{NAMESPACE}/widgets'),
         'pod': (pod, f'/api/v1/namespaces/{NAMESPACE}/pods')}


def fill(server, make, collection, numbers):
    def work(first):
        connection = server.connect()
        for number in numbers[first::THREADS]:
            call(connection, 'POST', collection, json.dumps(make(f'object-{number:06d}')))

    in_threads(THREADS, work)


def measure(options, store):
    make, collection = KINDS[options.kind]
    flags = [] if options.controllers else ['--controllers', 'false', '--scheduler', 'false']
    with Homeostat(options.homeostat, *flags, store=store) as homeostat:
        server = Server.of(homeostat)
        connection = server.connect()
        prepare(connection, DEFINITION, options.controllers)
        size = len(call(connection, 'POST', collection, json.dumps(make('first'))))
        fill(server, make, collection, range(WARM))
        call(connection, 'GET', collection)
        time.sleep(options.rest)
        before = server.resident()
        fill(server, make, collection, range(WARM, WARM + options.count))
        time.sleep(1)
        figures = [('filled', server.resident())]
        time.sleep(options.rest)
        figures.append(('at rest', server.resident()))
        listed = len(call(server.connect(), 'GET', collection))
        figures.append((f'after a list of {listed >> 20} MiB', server.resident()))
        time.sleep(options.rest)
        figures.append(('at rest again', server.resident()))
    print(f'{store}, {options.count} {options.kind}s of {size} bytes, controllers {"on" if options.controllers else "off"}; before {before:.0f} MiB')
    for name, resident in figures:
        each = (resident - before) * (1 << 20) / options.count
        print(f'  {name:28}{resident:8.0f} MiB{each:8.0f} bytes each{each / size:8.2f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--count', type=int, default=20000)
    parser.add_argument('--kind', choices=sorted(KINDS), default='custom')
    parser.add_argument('--store', choices=['memory', 'rocksdb', 'both'], default='both')
    parser.add_argument('--controllers', action='store_true', help='run the controllers and the scheduler as well')
    parser.add_argument('--rest', type=float, default=20)
    parser.add_argument('--homeostat', default=str(ROOT / 'build/homeostat'))
    options = parser.parse_args()
    for store in ['memory', 'rocksdb'] if options.store == 'both' else [options.store]:
        measure(options, store)


if __name__ == '__main__':
    main()
