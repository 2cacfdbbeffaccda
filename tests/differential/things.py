"""Longer conversations about objects of generated definitions: several versions that differ, every sort of list under server-side apply, watches
and lists with selectors, tables with odd columns, and schemas that grow tighter than what is stored."""
import copy
import random
import types
import urllib.parse

from cases import APPLY, JSON_PATCH, MERGE, TABLE, Request, compact, merged
from crds import CRDS, Definitions

PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
TIMES = ['2019-04-05T06:07:08Z', '2031-01-01T00:00:00Z', '2019-04-05', 'soon', '', '2019-04-05T06:07:08.123Z', '2019-04-05T06:07:08+02:00', '0001-01-01T00:00:00Z', '1500-01-01T00:00:00Z']
SCHEMA = {'type': 'object', 'properties': {
    'spec': {'type': 'object', 'properties': {
        'a': {'type': 'string'}, 'count': {'type': 'integer'}, 'ratio': {'type': 'number'}, 'on': {'type': 'boolean'}, 'since': {'type': 'string'}, 'at': {'type': 'string', 'format': 'date-time'}, 'either': {'x-kubernetes-int-or-string': True},
        'maybe': {'type': 'string', 'nullable': True}, 'preset': {'type': 'string', 'default': 'oak'},
        'plain': {'type': 'array', 'items': {'type': 'string'}}, 'atomic': {'type': 'array', 'x-kubernetes-list-type': 'atomic', 'items': {'type': 'object', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'integer'}}}},
        'tags': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'string'}}, 'numbers': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'integer'}},
        'parts': {'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], 'items': {'type': 'object', 'required': ['name'], 'properties': {
            'name': {'type': 'string'}, 'value': {'type': 'string'}, 'size': {'type': 'integer', 'default': 1}, 'tags': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'string'}}, 'deep': {'type': 'object', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}}}}}},
        'ports': {'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['port', 'protocol'], 'items': {'type': 'object', 'required': ['port'], 'properties': {
            'port': {'type': 'integer'}, 'protocol': {'type': 'string', 'default': 'TCP'}, 'name': {'type': 'string'}}}},
        'flags': {'type': 'object', 'additionalProperties': {'type': 'string'}}, 'groups': {'type': 'object', 'additionalProperties': {'type': 'array', 'items': {'type': 'string'}}},
        'whole': {'type': 'object', 'x-kubernetes-map-type': 'atomic', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}}}, 'granular': {'type': 'object', 'x-kubernetes-map-type': 'granular', 'properties': {'x': {'type': 'string'}}},
        'open': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}, 'embedded': {'type': 'object', 'x-kubernetes-embedded-resource': True, 'x-kubernetes-preserve-unknown-fields': True},
        'nested': {'type': 'object', 'properties': {'b': {'type': 'object', 'properties': {'c': {'type': 'string'}, 'd': {'type': 'integer'}}}}}}},
    'status': {'type': 'object', 'properties': {'ready': {'type': 'boolean'}, 'replicas': {'type': 'integer'}, 'conditions': {'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'], 'items': {'type': 'object', 'required': ['type'], 'properties': {
        'type': {'type': 'string'}, 'status': {'type': 'string'}, 'at': {'type': 'string'}}}}}}}}
VALUES = {
    'a': ['x', 'y', '', 'long text'], 'count': [0, 1, -5, 9007199254740993], 'ratio': [0, 1, 2.5, -0.1, 1e21, 1e-7, 100.0], 'on': [True, False], 'since': TIMES, 'at': TIMES[:2], 'either': [1, 'x', '50%', 0], 'maybe': [None, 'x'], 'preset': ['pine', ''],
    'plain': [[], ['a'], ['a', 'b'], ['b', 'a', 'a']], 'atomic': [[], [{'x': 'a'}], [{'x': 'a', 'y': 1}, {'y': 2}]], 'tags': [[], ['a'], ['b', 'a'], ['c', 'd']], 'numbers': [[1], [2, 1], [3]],
    'parts': [[{'name': 'a'}], [{'name': 'a', 'value': 'x'}, {'name': 'b'}], [{'name': 'b', 'size': 3, 'tags': ['x']}], [{'name': 'c', 'deep': {'x': 'y'}}, {'name': 'a', 'tags': ['y', 'z']}], []],
    'ports': [[{'port': 1}], [{'port': 1, 'protocol': 'UDP'}, {'port': 1}], [{'port': 2, 'name': 'n', 'protocol': 'TCP'}], []], 'flags': [{}, {'a': 'x'}, {'a': 'y', 'b.c/d': 'z'}], 'groups': [{'a': ['x']}, {'a': [], 'b': ['y', 'z']}],
    'whole': [{'x': 'a'}, {'y': 'b'}, {}], 'granular': [{'x': 'a'}, {}], 'open': [{}, {'k': 1}, {'k': {'l': [1, {'m': None}]}}, {'list': [{'name': 'a'}]}], 'embedded': [{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'x'}}, {'apiVersion': 'v1', 'kind': 'X', 'metadata': {'labels': {'a': 'b'}, 'bogus': 1}, 'spec': {'a': 1}}],
    'nested': [{}, {'b': {}}, {'b': {'c': 'x'}}, {'b': {'c': 'y', 'd': 1}}]}
ODD_VALUES = [None, 1, 'x', [], {}, [None], [1, 1], ['a', 'a'], [{'name': 'a'}, {'name': 'a'}], [{}], [{'name': None}], {'bogus': 1}, True, 1.5, [['a']], {'a': None}, [{'port': 1}, {'port': 1, 'protocol': 'TCP'}]]
COLUMN_PATHS = ['.spec.a', '.spec.count', '.spec.ratio', '.spec.on', '.spec.since', '.spec.at', '.spec.either', '.spec.maybe', '.spec.plain', '.spec.plain[0]', '.spec.plain[*]', '.spec.plain[-1]', '.spec.plain[0:1]', '.spec.plain[5]', '.spec.plain[1:]', '.spec.plain[::2]',
                '.spec.parts[*].name', ".spec.parts[?(@.name=='a')].value", ".spec.parts[?(@.size>1)].name", ".spec.parts[?(@.name!='a')].size", '.spec.parts[0].tags[0]', '.spec.flags', '.spec.flags.a', r'.spec.flags.b\.c/d', ".spec.flags['a']", '.spec.groups.a[0]', '.spec.nested.b.c', '.spec.nested.b',
                '.spec.open', '.spec.open.k', '.spec.open.k.l[0]', '.spec.embedded.kind', '.metadata.name', '.metadata.labels', '.metadata.labels.l', '.metadata.creationTimestamp', '.metadata.generation', '.metadata.uid', '.metadata', '.status.ready', '.status.conditions[?(@.type=="Ready")].status',
                ".status.conditions[?(@.type=='Ready')].at", '.status', '.spec', '.nothing', '.spec.nothing.more', '.kind', '.apiVersion', '.spec..x', ".spec['a','preset']", '.spec.parts[*].tags', '.spec.parts[*][\'name\',\'size\']', '.metadata.managedFields[0].manager', '.metadata.deletionTimestamp', '.spec.atomic[*].y']
SELECTORS = ['l=1', 'l in (1,2)', '!l', 'l', 'l!=2', 'm=x']
TYPES = ['string', 'integer', 'number', 'boolean', 'date']
FORMATS = [None, None, None, 'int32', 'int64', 'float', 'double', 'byte', 'date', 'date-time', 'password']
RULES = {'a': ["self != 'forbidden'", "self == oldSelf || oldSelf != 'x'", "self.size() < 6"], 'count': ['self >= 0', 'self >= oldSelf || self == 0'], 'parts': ["self.all(p, p.name != 'z')", 'self.size() <= oldSelf.size() + 1'], 'tags': ["self.all(t, t in oldSelf) || size(self) < 3"],
         'nested': ["!has(self.b) || has(self.b.c)"], 'plain': ["self.size() < 3"], 'flags': ["self.all(k, self[k] != 'y')"]}


class Things(Definitions):
    def __init__(self, seed, number, resources, namespace):
        super().__init__(seed, number, resources, namespace)
        self.chance = random.Random(f'{seed}/{number}/things')
        self.resource = types.SimpleNamespace(kind='Thing', title='example.com/v1 Thing')
        self.group = f't{number}.{namespace}.example.com'
        self.path = f'{CRDS}/{self.plural}.{self.group}'
        self.versions, self.names = ['v1'], [f'thing-{letter}' for letter in 'abc']

    def requests(self):
        yield from self.life()

    def schema(self):
        """Some of the fields, now and then with conditions and rules."""
        chance, schema = self.chance, copy.deepcopy(SCHEMA)
        fields = schema['properties']['spec']['properties']
        for name in list(fields):
            if chance.random() < 0.25 and name != 'a':
                del fields[name]
            elif name in RULES and chance.random() < 0.2:
                fields[name]['x-kubernetes-validations'] = [{'rule': chance.choice(RULES[name]), **chance.choice([{}, {'message': 'no'}, {'messageExpression': "'no: ' + 'it'"}])}]
                if fields[name]['type'] == 'array':
                    fields[name]['maxItems'] = 10
                elif fields[name]['type'] == 'string':
                    fields[name]['maxLength'] = 50
                elif 'additionalProperties' in fields[name]:
                    fields[name]['maxProperties'] = 10
                for below in [fields[name].get('items', {}), *fields[name].get('items', {}).get('properties', {}).values()]:
                    if below.get('type') == 'string':
                        below['maxLength'] = 20
        if chance.random() < 0.2:
            schema['properties']['spec']['required'] = [chance.choice(['a', 'count', 'parts'])]
        return schema

    def definition(self, oddness=0.0):
        chance = self.chance
        body = super().definition(0.0)
        first = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': self.schema()}, 'subresources': {'status': {}}}
        if chance.random() < 0.3:
            first['subresources']['scale'] = {'specReplicasPath': '.spec.count', 'statusReplicasPath': '.status.replicas', 'labelSelectorPath': '.spec.a'}
        if chance.random() < 0.2:
            del first['subresources']
        fields = first['schema']['openAPIV3Schema']['properties']['spec']['properties']
        first['selectableFields'] = [{'jsonPath': f'.spec.{name}'} for name in ('a', 'count', 'on', 'preset', 'nested.b.c') if name.split('.')[0] in fields][:chance.choice([1, 3, 5])]
        first['additionalPrinterColumns'] = [self.column(index) for index in range(chance.choice([3, 5, 8]))]
        body['spec']['versions'] = [first]
        if chance.random() < 0.5:
            second = copy.deepcopy(first)
            second.update({'name': 'v2', 'storage': False})
            other = second['schema']['openAPIV3Schema']['properties']['spec']['properties']
            for name in list(other):
                if chance.random() < 0.2 and name != 'a':
                    del other[name]
            other['newer'] = {'type': 'string', **({'default': 'fresh'} if chance.random() < 0.5 else {})}
            second.pop('selectableFields', None)
            if 'count' not in other:
                second.get('subresources', {}).pop('scale', None)
            if chance.random() < 0.4:
                second['additionalPrinterColumns'] = [self.column(index) for index in range(3)]
            if chance.random() < 0.25:
                first['storage'], second['storage'] = False, True
            body['spec']['versions'].append(second)
            self.versions = ['v1', 'v2']
        return body

    def column(self, index):
        chance = self.chance
        column = {'name': f'C{index}', 'type': chance.choice(TYPES), 'jsonPath': chance.choice(COLUMN_PATHS)}
        form = chance.choice(FORMATS)
        if form:
            column['format'] = form
        if chance.random() < 0.2:
            column['priority'] = chance.choice([0, 1, 5])
        if chance.random() < 0.2:
            column['description'] = 'about it'
        return column

    def base(self, version=None):
        version = version or self.chance.choice(self.versions)
        return version, f'/apis/{self.group}/{version}' + (f'/namespaces/{self.namespace}' if self.namespaced else '') + f'/{self.plural}'

    def body_of(self, version, name, oddness=0.0, share=0.4):
        chance = self.chance
        spec = {}
        for field, values in VALUES.items():
            if chance.random() < share:
                spec[field] = copy.deepcopy(chance.choice(ODD_VALUES if chance.random() < oddness else values))
        if chance.random() < 0.1:
            spec['newer'] = 'x'
        if chance.random() < oddness:
            spec['bogus'] = 1
        made = {'apiVersion': f'{self.group}/{version}', 'kind': 'Thing', 'metadata': {'name': name, 'labels': {'l': chance.choice('123')}}, 'spec': spec}
        if chance.random() < 0.3:
            made['status'] = self.status()
        return made

    def status(self):
        chance = self.chance
        return chance.choice([{'ready': True}, {'ready': False, 'replicas': 2}, {'conditions': [{'type': 'Ready', 'status': 'True', 'at': chance.choice(TIMES)}]}, {'conditions': [{'type': 'Ready', 'status': 'False'}, {'type': 'Other'}]}, {}, {'bogus': 1}])

    def life(self):
        chance = self.chance
        self.body = self.definition()
        yield Request('create definition', 'POST', CRDS, compact(self.body))
        for version in self.versions:
            wait = Request('', 'GET', self.base(version)[1] + '?limit=1')
            wait.until = True
            yield wait
        yield from self.some(chance.randint(14, 24))
        if chance.random() < 0.6:
            yield self.tighten()
            yield self.in_effect()
            yield Request('get definition', 'GET', self.path)
            yield from self.some(chance.randint(6, 12))
        yield Request('delete things', 'DELETE', self.base('v1')[1])

    def some(self, count):
        steps = [self.create, self.create, self.create, self.update, self.patch, self.patch, self.apply, self.apply, self.apply, self.apply, self.apply, self.table, self.table, self.list_some, self.watch, self.one, self.part, self.remove]
        for _ in range(count):
            yield self.chance.choice(steps)()

    def ask(self, path, **more):
        chance, query = self.chance, dict(more)
        if chance.random() < 0.3:
            query['fieldValidation'] = chance.choice(['Strict', 'Ignore'])
        if chance.random() < 0.1:
            query['dryRun'] = 'All'
        if 'fieldManager' not in query and chance.random() < 0.3:
            query['fieldManager'] = chance.choice(['m1', 'm2'])
        return path + ('?' + urllib.parse.urlencode(query) if query else '')

    def create(self):
        version, base = self.base()
        return Request('create thing', 'POST', self.ask(base), compact(self.body_of(version, self.chance.choice(self.names), self.oddness())))

    def update(self):
        version, base = self.base()
        name = self.chance.choice(self.names)
        body = self.body_of(version, name, self.oddness())
        live_name = name

        def with_version(live):
            known = isinstance(live, dict) and live.get('kind') == 'Thing' and live.get('metadata', {}).get('name') == live_name
            return compact(merged(body, {'metadata': {'resourceVersion': live['metadata']['resourceVersion'] if known else '1'}}))
        return Request('put thing', 'PUT', self.ask(f'{base}/{name}'), with_version)

    def patch(self):
        chance = self.chance
        version, base = self.base()
        path = self.ask(f'{base}/{chance.choice(self.names)}')
        body = self.body_of(version, 'x', self.oddness(), 0.15)
        if chance.random() < 0.3:
            operations = []
            for field, value in list(body['spec'].items())[:3]:
                operations.append({'op': chance.choice(['add', 'replace', 'test']), 'path': f'/spec/{field}' + chance.choice(['', '', '', '/-', '/0']), 'value': value})
                if chance.random() < 0.2:
                    operations.append({'op': chance.choice(['copy', 'move']), 'from': f'/spec/{field}', 'path': '/spec/' + chance.choice(list(VALUES) + ['bogus'])})
                if chance.random() < 0.15:
                    operations.append({'op': 'remove', 'path': f'/spec/{field}'})
            return Request('json patch thing', 'PATCH', path, compact(operations), JSON_PATCH)
        for field in list(body['spec']):
            if chance.random() < 0.2:
                body['spec'][field] = None
        return Request('merge patch thing', 'PATCH', path, compact({'spec': body['spec'], **({'metadata': {'labels': {'m': chance.choice(['x', None])}}} if chance.random() < 0.3 else {})}), MERGE)

    def apply(self):
        chance = self.chance
        version, base = self.base()
        more = {'fieldManager': chance.choice(['m1', 'm2', 'm3'])}
        if chance.random() < 0.4:
            more['force'] = 'true'
        name = chance.choice(self.names)
        body = self.body_of(version, name, self.oddness() * 0.7, chance.choice([0.1, 0.3]))
        if chance.random() < 0.7:
            body['metadata'] = {'name': name}
        return Request('apply thing', 'PATCH', self.ask(f'{base}/{name}', **more), compact(body), APPLY)

    def part(self):
        chance = self.chance
        version, base = self.base()
        name = chance.choice(self.names)
        path = f'{base}/{name}/status'
        if chance.random() < 0.4:
            return Request('apply status of thing', 'PATCH', self.ask(path, fieldManager='m1', force='true'), compact({'apiVersion': f'{self.group}/{version}', 'kind': 'Thing', 'metadata': {'name': name}, 'status': self.status(), **({'spec': {'a': 'x'}} if chance.random() < 0.2 else {})}), APPLY)
        if chance.random() < 0.2:
            return Request('patch scale', 'PATCH', self.ask(f'{base}/{name}/scale'), compact({'spec': {'replicas': chance.choice([0, 4])}}), MERGE)
        return Request('merge patch status of thing', 'PATCH', self.ask(path), compact({'status': self.status(), 'spec': {'a': 'zzz'}}), MERGE)

    def table(self):
        chance = self.chance
        _, base = self.base()
        path = base if chance.random() < 0.7 else f'{base}/{chance.choice(self.names)}'
        more = chance.choice(['', '', '?includeObject=None', '?includeObject=Object', '?includeObject=Metadata'])
        return Request('table', 'GET', path + more, accept=chance.choice([TABLE, TABLE, TABLE + ',application/json', 'application/json;as=Table;v=v1beta1;g=meta.k8s.io']))

    def fields(self):
        chance = self.chance
        version = self.body['spec']['versions'][0]
        names = [field['jsonPath'][1:] for field in version.get('selectableFields', [])] + ['metadata.name', 'metadata.namespace', 'spec.a', 'spec.bogus']
        return ','.join(chance.choice(names) + chance.choice(['=', '==', '!=']) + chance.choice(['x', '', '1', '0', 'true', 'false', 'oak', 'thing-a', 'y']) for _ in range(chance.choice([1, 1, 2])))

    def selection(self):
        chance, query = self.chance, {}
        if chance.random() < 0.5:
            query['fieldSelector'] = self.fields()
        if chance.random() < 0.4:
            query['labelSelector'] = chance.choice(SELECTORS)
        return query

    def list_some(self):
        chance, query = self.chance, self.selection()
        if chance.random() < 0.3:
            query.update({'limit': chance.choice(['1', '2'])} if chance.random() < 0.6 else {'limit': '1', 'continue': '${continue}'})
        _, base = self.base()
        return Request('list things', 'GET', base + ('?' + urllib.parse.urlencode(query, safe='${}') if query else ''), accept=chance.choice([None, None, None, PARTIAL_LIST, 'application/yaml', 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io']))

    def watch(self):
        chance, query = self.chance, {'watch': '1', 'timeoutSeconds': '1', **self.selection()}
        query['resourceVersion'] = chance.choice(['0', '', '0'])  # what is older than the storage of a changed definition is too old upstream
        if chance.random() < 0.2:
            query.update({'sendInitialEvents': 'true', 'resourceVersionMatch': 'NotOlderThan', 'allowWatchBookmarks': 'true'})
        _, base = self.base()
        return Request('watch things', 'GET', base + '?' + urllib.parse.urlencode(query, safe='${}'), accept=chance.choice([None, None, TABLE, PARTIAL]))

    def one(self):
        _, base = self.base()
        return Request('get thing', 'GET', f'{base}/{self.chance.choice(self.names)}' + self.chance.choice(['', '', '/status', '/scale']), accept=self.chance.choice([None, None, None, 'application/yaml', PARTIAL, 'application/vnd.kubernetes.protobuf']))

    def remove(self):
        chance = self.chance
        _, base = self.base()
        if chance.random() < 0.4:
            return Request('delete many things', 'DELETE', base + '?' + urllib.parse.urlencode({'labelSelector': 'l=3', **({'fieldSelector': self.fields()} if chance.random() < 0.4 else {})}))
        return Request('delete thing', 'DELETE', f'{base}/{chance.choice(self.names)}' + chance.choice(['', '?dryRun=All', '?propagationPolicy=Foreground']))

    def tighten(self):
        chance = self.chance
        for version in self.body['spec']['versions']:
            fields = version['schema']['openAPIV3Schema']['properties']['spec']['properties']
            for name, of in fields.items():
                if chance.random() > 0.35 or of.get('x-kubernetes-validations'):
                    continue
                if of.get('type') == 'string':
                    of.update(chance.choice([{'maxLength': 1}, {'enum': ['zzz', 'x']}, {'pattern': '^x'}, {'x-kubernetes-validations': [{'rule': "self == 'x'"}], 'maxLength': 50}]))
                    of.pop('default', None)
                elif of.get('type') in ('integer', 'number'):
                    of.update(chance.choice([{'minimum': 1}, {'maximum': 0}, {'x-kubernetes-validations': [{'rule': 'self > 0' if of['type'] == 'integer' else 'self > 0.0', 'reason': 'FieldValueForbidden'}]}]))
                elif of.get('type') == 'array':
                    of.update(chance.choice([{'maxItems': 1}, {'minItems': 2}]))
                    if of.get('x-kubernetes-list-type') == 'map' and 'value' in of['items']['properties']:
                        of['items']['properties']['value'] = {'type': 'string', 'enum': ['x']}
                elif of.get('type') == 'object' and 'additionalProperties' in of:
                    of['maxProperties'] = 1
                elif of.get('type') == 'object' and 'properties' in of and 'x-kubernetes-map-type' not in of:
                    of['required'] = [next(iter(of['properties']))]
        self.mark()
        return Request('tighten definition', 'PATCH', self.path, compact({'spec': {'versions': self.body['spec']['versions']}}), MERGE)
