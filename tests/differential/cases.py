"""Random conversations about one object each. Case N of a seed is always the same; a body that must build on what a server
answered (its own uids, versions, addresses) is a function of that server's state."""
import copy
import json
import random
import urllib.parse

import mutate
import values
from scenarios import merge as merged  # of tests/golden, which compare.py puts on the path

APPLY, JSON_PATCH = 'application/apply-patch+yaml', 'application/json-patch+json'
MERGE, STRATEGIC = 'application/merge-patch+json', 'application/strategic-merge-patch+json'
TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
# Subresources that take an object of the kind.
PARTIAL = ('status', 'ephemeralcontainers', 'resize', 'approval', 'finalize')


def compact(value):
    """As most clients write JSON: objects that are kept as they came must not differ in spaces from what a patch makes of them."""
    return json.dumps(value, separators=(',', ':'))


class Request:
    """`body`: text, None, or a function from the server's last answer for the object to text."""

    def __init__(self, operation, method, path, body=None, content='application/json', accept=None):
        self.operation, self.method, self.path, self.body = operation, method, path, body
        self.until = False  # not compared: sent again until it is answered with 200 (True), or until(code, text) is true
        self.headers = {} if body is None or not content else {'Content-Type': content}
        if accept is not None:
            self.headers['Accept'] = accept


class Case:
    goes_on = False  # whether requests follow one that the servers decided differently

    def __init__(self, seed, number, resources, namespace):
        self.chance = random.Random(f'{seed}/{number}')
        self.number, self.namespace = number, namespace
        self.resource = self.chance.choice(resources)
        self.mutator = mutate.Mutator(self.chance)
        seeds = self.resource.seeds
        self.seed_index = self.chance.randrange(len(seeds['objects']))
        self.shared = seeds.get('shared', False)
        if self.shared:
            self.name = shared_name(self.resource, self.seed_index, namespace)
        else:
            self.name = seeds['names'][number % len(seeds['names'])] if 'names' in seeds else f'{namespace}-{number}'
        self.object = seed_object(self.resource, self.seed_index, self.name, namespace)
        self.name = self.object['metadata']['name']
        self.collection = self.resource.path(namespace)
        self.path = f'{self.collection}/{self.name}'

    def requests(self):
        """The requests, in order; the first that the two servers decide differently ends the case."""
        chance = self.chance
        if chance.random() < 0.5:
            yield self.create()
            return
        if not self.shared:
            yield Request('create seed', 'POST', self.collection, compact(self.object))
        steps = [self.put, self.put, self.merge_patch, self.json_patch, self.strategic_patch, self.strategic_patch, self.apply, self.apply, self.read]
        partial = [name for name in PARTIAL if name in self.resource.subresources]
        if partial:
            steps += [lambda: self.part(chance.choice(partial))] * 2
        if 'scale' in self.resource.subresources:
            steps.append(self.scale)
        for _ in range(chance.randint(2, 5)):
            yield chance.choice(steps)()
        yield Request('get', 'GET', self.path)
        yield self.delete()

    def prepare(self):
        """What must be there first, and is no matter of comparison."""
        return []

    def cleanup(self):
        """What makes sure the object goes, whatever the case did to it."""
        if self.shared:
            return []
        gone = compact({'gracePeriodSeconds': 0, 'propagationPolicy': 'Background'})
        return [Request('', 'DELETE', self.path, gone), Request('', 'PATCH', self.path, '{"metadata":{"finalizers":null}}', MERGE),
                Request('', 'DELETE', self.path, gone)]

    # Building blocks.

    def query(self, path, *, dry=0.5, manager=0.3, **more):
        chance, query = self.chance, dict(more)
        if self.shared or chance.random() < dry:
            query['dryRun'] = 'All'
        if chance.random() < 0.5:
            query['fieldValidation'] = chance.choice(['Strict', 'Strict', 'Warn', 'Ignore'])
        if 'fieldManager' not in query and chance.random() < manager:
            query['fieldManager'] = chance.choice(['m1', 'm2'])
        if chance.random() < 0.01:
            query[chance.choice(['dryRun', 'fieldValidation', 'fieldManager', 'force', 'pretty', 'bogus'])] = chance.choice(['x', '', values.VERY_LONG, 'true', '\u0001'])
        return path + ('?' + urllib.parse.urlencode(query) if query else '')

    def text(self, body):
        """JSON, now and then with a member twice."""
        text = compact(body)
        if self.chance.random() < 0.03:
            start = text.find('{', self.chance.randrange(len(text)))
            end = text.find(':', start)
            if 0 <= start < end and text[start + 1:start + 2] == '"':
                text = text[:start + 1] + text[start + 1:end] + ':null,' + text[start + 1:]
        return text

    def content(self):
        return 'application/yaml' if self.chance.random() < 0.05 else 'application/json'

    def create(self):
        body = copy.deepcopy(self.object)
        if self.chance.random() < 0.25:
            # Wholly from the schema, on the seed's head.
            made = self.mutator.values.value(self.resource.schema, '', self.chance.choice([0.0, 0.02, 0.1]))
            if isinstance(made, dict):
                made.pop('metadata', None)
                body = {**{name: body[name] for name in ('apiVersion', 'kind', 'metadata')}, **made}
        else:
            body = self.mutator.mutated(body, self.resource.schema)
        named = 'name' in self.resource.seeds['objects'][self.seed_index].get('metadata', {})  # the kind has a rule for it
        if self.shared and not named and isinstance(body.get('metadata'), dict) and body['metadata'].get('name') == self.name:
            body['metadata']['name'] = self.name + '-x'
        return Request('create', 'POST', self.query(self.collection, dry=0.7), self.text(body), self.content())

    def change(self):
        """A merge patch of one to three changes of the seed."""
        return mutate.merge_patch(self.object, self.mutator.mutated(self.object, self.resource.schema))

    def put(self):
        change = self.change()
        path = self.query(self.path)
        if self.chance.random() < 0.3:
            return Request('put', 'PUT', path, self.text(merged(self.object, change)), self.content())
        keep_version = self.chance.random() < 0.5
        doubled = self.chance.random() < 0.03

        def body(live):
            result = merged(live if isinstance(live, dict) and live.get('kind') != 'Status' else self.object, change)
            metadata = result.get('metadata')
            if isinstance(metadata, dict):
                metadata.pop('managedFields', None)
                if not keep_version:
                    metadata.pop('resourceVersion', None)
            text = compact(result)
            return text[:-1] + ',"kind":"X"}' if doubled else text
        return Request('put live', 'PUT', path, body, self.content())

    def merge_patch(self):
        return Request('merge patch', 'PATCH', self.query(self.path), self.text(self.change()), MERGE)

    def json_patch(self):
        chance = self.chance
        places = list(mutate.pointers(self.object))[1:]
        below = [place for place in places if place.startswith(('/spec', '/metadata', '/data', '/rules', '/webhooks'))] or places
        operations = []
        for _ in range(chance.choice([1, 1, 2, 3])):
            place = chance.choice(below if chance.random() < 0.9 else places)
            if chance.random() < 0.2:
                place = chance.choice([place + '/-', place + '/x', place + '/0', '', 'x', '/nothing/x', place + '/99', place + '/~2', '/spec/x', place + '/-1'])
            operation = {'op': chance.choice(['add', 'replace', 'remove', 'test', 'copy', 'move', 'add', 'replace', 'remove']), 'path': place}
            if operation['op'] in ('copy', 'move'):
                operation['from'] = chance.choice(places)
            elif operation['op'] != 'remove':
                operation['value'] = chance.choice([self.at(place), self.mutator.values.of_wrong_type(), self.mutator.values.of_wrong_type()])
            if chance.random() < 0.04:
                operation.pop(chance.choice(list(operation)))
            if chance.random() < 0.03:
                operation[chance.choice(['op', 'path', 'from', 'bogus'])] = chance.choice(['bogus', None, 5, {}])
            operations.append(operation)
        return Request('json patch', 'PATCH', self.query(self.path), compact(operations), JSON_PATCH)

    def at(self, pointer):
        value = self.object
        for part in pointer.split('/')[1:]:
            part = part.replace('~1', '/').replace('~0', '~')
            try:
                value = value[int(part)] if isinstance(value, list) else value[part]
            except (LookupError, ValueError, TypeError):
                return 'x'
        return value

    def strategic_patch(self):
        patch = self.change()
        if self.chance.random() < 0.5:
            self.add_directive(patch)
        return Request('strategic patch', 'PATCH', self.query(self.path), self.text(patch), STRATEGIC)

    def add_directive(self, patch):
        chance = self.chance
        holders = []

        def find(value, name):
            if isinstance(value, dict):
                holders.append((value, name))
                for key, member in value.items():
                    find(member, key)
            elif isinstance(value, list):
                for member in value:
                    find(member, name)
        find(patch, '')
        holder, _ = chance.choice(holders)
        lists = [key for key, member in holder.items() if isinstance(member, list)] or ['containers']
        name = chance.choice(lists)
        kind = chance.choice(['patch', 'patch', 'retain', 'order', 'delete'])
        if kind == 'patch':
            holder['$patch'] = chance.choice(['replace', 'delete', 'merge', 'bogus', 5])
        elif kind == 'retain':
            holder['$retainKeys'] = chance.choice([[key for key in holder], [], ['x'], 'x', [1]])
        elif kind == 'order':
            holder['$setElementOrder/' + name] = chance.choice([holder.get(name, []), [], [{'name': 'a'}], ['x'], 'x'])
        else:
            holder['$deleteFromPrimitiveList/' + chance.choice([name, 'finalizers'])] = chance.choice([['a'], [], 'x', [1], ['example.com/f']])

    def apply(self):
        body = copy.deepcopy(self.object)
        if self.chance.random() < 0.6:
            body = self.mutator.mutated(body, self.resource.schema)
        if isinstance(body.get('spec'), dict) and self.chance.random() < 0.4:
            for name in list(body['spec']):
                if self.chance.random() < 0.4:
                    del body['spec'][name]
        more = {'force': self.chance.choice(['true', 'false'])} if self.chance.random() < 0.5 else {}
        if self.chance.random() < 0.95:
            more['fieldManager'] = self.chance.choice(['m1', 'm2'])
        return Request('apply', 'PATCH', self.query(self.path, manager=0, **more), self.text(body), APPLY)

    def part(self, name):
        status = self.resource.schema.get('status')
        if name == 'status' and status is not None:
            made = self.mutator.values.value(status, 'status', self.chance.choice([0.0, 0.05, 0.3]), 1)
            if 'status' in self.resource.seeds and self.chance.random() < 0.5:
                made = merged(self.resource.seeds['status'], made)
            change = {'status': made}
            if self.chance.random() < 0.3:
                change = {**self.change(), **change}
        else:
            change = self.change()
        path = self.query(f'{self.path}/{name}')
        way = self.chance.choice(['merge', 'merge', 'strategic', 'put', 'apply'])
        if way == 'merge' or way == 'strategic':
            return Request(f'{way} patch {name}', 'PATCH', path, self.text(change), MERGE if way == 'merge' else STRATEGIC)
        if way == 'apply':
            head = {'apiVersion': self.object['apiVersion'], 'kind': self.object['kind'], 'metadata': {'name': self.name}}
            path = self.query(f'{self.path}/{name}', manager=0, fieldManager='m1')
            return Request(f'apply {name}', 'PATCH', path, self.text(merged(head, change)), APPLY)
        return Request(f'put {name}', 'PUT', path, lambda live: compact(merged(live if isinstance(live, dict) else {}, change)))

    def scale(self):
        replicas = self.chance.choice([0, 1, 5, -1, None, 'x', 2147483648, 1.5])
        way = self.chance.choice(['put', 'patch', 'get'])
        path = f'{self.path}/scale'
        if way == 'get':
            return Request('get scale', 'GET', path)
        body = {'spec': {'replicas': replicas}}
        if way == 'patch':
            return Request('patch scale', 'PATCH', self.query(path), compact(body), self.chance.choice([MERGE, STRATEGIC]))
        body = {'apiVersion': self.chance.choice(['autoscaling/v1', 'v1', '']), 'kind': 'Scale',
                'metadata': {'name': self.name, 'namespace': self.namespace}, **body}
        return Request('put scale', 'PUT', self.query(path), compact(body))

    def read(self):
        chance = self.chance
        if chance.random() < 0.3:
            return Request('get table', 'GET', self.path, accept=TABLE)
        query = {'fieldSelector': f'metadata.name={self.name}'}
        if chance.random() < 0.3:
            query['fieldSelector'] += chance.choice([',spec.x=1', ',metadata.namespace!=x', ',=', ',a', ',metadata.name!=b', ',status.phase=x'])
        if chance.random() < 0.3:
            query['labelSelector'] = chance.choice(['a', '!a', 'a=b', 'a in (b,c)', 'a notin (b)', 'a==', 'a>1', 'a in', 'bad key', 'a=b c', ',', 'a=' + values.LONG, '=b'])
        if chance.random() < 0.2:
            query['limit'] = chance.choice(['1', '0', '-1', 'x', '500'])
        if chance.random() < 0.1:
            query['resourceVersion'] = chance.choice(['0', 'x', '-1', '1'])
        if chance.random() < 0.1:
            query['resourceVersionMatch'] = chance.choice(['Exact', 'NotOlderThan', 'x'])
        return Request('list', 'GET', self.collection + '?' + urllib.parse.urlencode(query), accept=TABLE if chance.random() < 0.4 else None)

    def delete(self):
        chance, body = self.chance, {}
        if chance.random() < 0.4:
            body['propagationPolicy'] = chance.choice(['Foreground', 'Background', 'Orphan', 'Bogus', ''])
        if chance.random() < 0.3:
            body['gracePeriodSeconds'] = chance.choice([0, 1, 30, -1, None, 'x', 1.5])
        if chance.random() < 0.2:
            body['preconditions'] = chance.choice([{'uid': 'x'}, {'resourceVersion': '1'}, {}, {'uid': ''}, {'resourceVersion': ''}])
        if chance.random() < 0.1:
            body[chance.choice(['orphanDependents', 'dryRun', 'bogus', 'kind', 'apiVersion'])] = chance.choice([True, ['All'], ['x'], 'DeleteOptions', 'v1', 'x'])
        if self.shared:
            body['dryRun'] = ['All']  # options in a body replace those of the query
        text = compact(body) if body else chance.choice([None, '', '{}'])
        return Request('delete', 'DELETE', self.path + ('?dryRun=All' if self.shared else ''), text)


class Walk(Case):
    """Not random: the usual walk over one seed, valid all the way."""
    goes_on = True

    def __init__(self, resource, index, namespace):
        self.chance = random.Random(f'{resource.title}/{index}')
        self.resource, self.namespace, self.seed_index = resource, namespace, index
        seeds = resource.seeds
        self.number, self.shared = f'{resource.title}/{index}', False
        name = seeds['names'][index] if 'names' in seeds else f'{namespace}-walk-{index}'
        self.object = seed_object(resource, index, name, namespace)
        self.name = self.object['metadata']['name']
        self.collection = resource.path(namespace)
        self.path = f'{self.collection}/{self.name}'

    def requests(self):
        body = merged(self.object, {'metadata': {'labels': {'walk': f'{self.namespace}-{self.seed_index}'}}})
        pick = f'{self.collection}?labelSelector=walk%3D{self.namespace}-{self.seed_index}'
        note = {'metadata': {'annotations': {'noted': 'yes'}}}
        yield Request('create', 'POST', self.collection, compact(body))
        yield Request('create again', 'POST', self.collection, compact(body))
        yield Request('get', 'GET', self.path)
        yield Request('list', 'GET', pick)
        yield Request('table', 'GET', pick, accept=TABLE)
        yield Request('table of one', 'GET', self.path + '?includeObject=None', accept=TABLE)
        yield Request('put', 'PUT', self.path, compact(merged(body, note)))
        yield Request('put with version', 'PUT', self.path, lambda live: compact(merged(live, note)))
        yield Request('merge patch', 'PATCH', self.path, compact({'metadata': {'annotations': {'noted': 'twice'}}}), MERGE)
        yield Request('strategic patch', 'PATCH', self.path, compact({'metadata': {'annotations': {'other': 'x'}}}), STRATEGIC)
        if 'status' in self.resource.subresources:
            status = self.resource.seeds.get('status', {})
            yield Request('patch status', 'PATCH', self.path + '/status', compact({'status': status}), MERGE)
        yield Request('get status', 'GET', self.path + '/status')
        if 'scale' in self.resource.subresources:
            yield Request('get scale', 'GET', self.path + '/scale')
            yield Request('put scale', 'PUT', self.path + '/scale', lambda live: compact(
                {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': self.name, 'namespace': self.namespace}, 'spec': {'replicas': 2}}))
        yield Request('apply', 'PATCH', self.path + '?fieldManager=m1&force=true', compact(self.object), APPLY)
        other = compact(merged(self.object, {'metadata': {'name': self.name + '-y'}}))
        yield Request('apply new', 'PATCH', self.path + '-y?fieldManager=m1&dryRun=All', other, APPLY)
        yield Request('unknown field', 'POST', self.collection + '?fieldValidation=Strict&dryRun=All', compact({**self.object, 'bogus': 1}))
        yield Request('delete', 'DELETE', self.path, compact({'propagationPolicy': 'Background'}))
        yield Request('delete collection', 'DELETE', pick)
        yield Request('get after delete', 'GET', self.path)


def shared_name(resource, index, namespace):
    """Of the run alone: others may be going on."""
    return f'{namespace}-s-{resource.plural}-{index}'[:60]


def seed_object(resource, index, name, namespace):
    """A valid object of the kind, under a name."""
    text = json.dumps(resource.seeds['objects'][index]).replace('${name}', name).replace('${ns}', namespace)
    body = {'apiVersion': resource.group_version, 'kind': resource.kind, 'metadata': {'name': name}}
    return merged(body, json.loads(text))
