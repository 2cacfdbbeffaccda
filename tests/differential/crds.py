"""Conversations about generated CustomResourceDefinitions: the definition itself, nearly valid; or a valid one and objects of the
kind that it makes, its change, and what then becomes of the objects."""
import copy
import random
import threading
import types
import urllib.parse

import cases
from cases import APPLY, JSON_PATCH, MERGE, STRATEGIC, TABLE, Request, compact, merged
from shapes import Shapes

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
COLUMNS = [{'name': 'A', 'type': 'string', 'jsonPath': '.spec.a'}, {'name': 'B', 'type': 'integer', 'jsonPath': '.spec.b'}, {'name': 'Age', 'type': 'date', 'jsonPath': '.metadata.creationTimestamp'},
           {'name': 'C', 'type': 'number', 'jsonPath': '.spec.c', 'priority': 1}, {'name': 'D', 'type': 'boolean', 'jsonPath': '.status.ready'}, {'name': 'E', 'type': 'string', 'jsonPath': '.spec.list[*]', 'format': 'byte'},
           {'name': 'F', 'type': 'string', 'jsonPath': '.metadata.name', 'description': 'x'}, {'name': 'G', 'type': 'date', 'jsonPath': '.spec.a'}, {'name': 'H', 'type': 'string', 'jsonPath': '.spec'},
           {'name': 'I', 'type': 'string', 'jsonPath': ".spec.items[?(@.name=='a')].value"}, {'name': 'J', 'type': 'integer', 'jsonPath': '.spec.a'}, {'name': 'K', 'type': 'string', 'jsonPath': '.spec.map.a'}]
ODD_COLUMNS = [{'name': 'A', 'type': 'bogus', 'jsonPath': '.spec.a'}, {'name': '', 'type': 'string', 'jsonPath': '.a'}, {'name': 'X', 'type': 'string', 'jsonPath': 'spec.a'}, {'name': 'X', 'type': 'string', 'jsonPath': '.spec['},
               {'name': 'X', 'type': 'string'}, {'type': 'string', 'jsonPath': '.a'}, {'name': 'X', 'type': 'string', 'jsonPath': '.a', 'format': 'bogus'}, {'name': 'X', 'jsonPath': '.a'}, {'name': 'X', 'type': 'string', 'jsonPath': '{.a}'},
               {'name': 'X', 'type': 'integer', 'format': 'int32', 'jsonPath': '.spec.b', 'priority': -1}]


class Definitions(cases.Case):
    goes_on = True

    def __init__(self, seed, number, resources, namespace):
        self.chance = random.Random(f'{seed}/{number}/definition')
        self.number, self.namespace = number, namespace
        self.resource = types.SimpleNamespace(kind='CustomResourceDefinition', title='apiextensions.k8s.io/v1 CustomResourceDefinition')
        self.shared = False
        self.group = f'g{number}.{namespace}.example.com'
        self.plural = 'things'
        self.namespaced = self.chance.random() < 0.6
        self.path = f'{CRDS}/{self.plural}.{self.group}'
        self.name = f'{namespace}-a'

    def requests(self):
        if self.chance.random() < 0.45:
            for _ in range(6):
                yield self.nearly()
            return
        yield from self.life()

    def definition(self, oddness=0.0):
        chance = self.chance
        shapes = Shapes(chance, oddness)
        version = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': shapes.root()}}
        if chance.random() < 0.6:
            version['subresources'] = {'status': {}}
            if chance.random() < 0.5:
                scale = {'specReplicasPath': '.spec.replicas', 'statusReplicasPath': '.status.replicas'}
                if chance.random() < 0.6:
                    scale['labelSelectorPath'] = '.status.selector'
                version['subresources']['scale'] = scale
        if chance.random() < 0.6:
            version['additionalPrinterColumns'] = copy.deepcopy(chance.sample(COLUMNS, chance.choice([1, 2, 4])))
        if chance.random() < 0.3:
            properties = version['schema']['openAPIV3Schema']['properties']['spec']['properties']
            fit = [name for name, of in properties.items() if of.get('type') in ('string', 'integer', 'boolean')]
            if fit:
                version['selectableFields'] = [{'jsonPath': f'.spec.{name}'} for name in fit[:2]]
        if chance.random() < 0.1:
            version['deprecated'] = True
            if chance.random() < 0.5:
                version['deprecationWarning'] = 'use something else'
        names = {'plural': self.plural, 'kind': 'Thing'}
        if chance.random() < 0.3:
            names['singular'] = 'thing'
        if chance.random() < 0.3:
            names['shortNames'] = ['th']
        if chance.random() < 0.2:
            names['categories'] = ['all']
        if chance.random() < 0.2:
            names['listKind'] = 'ThingList'
        spec = {'group': self.group, 'scope': 'Namespaced' if self.namespaced else 'Cluster', 'names': names, 'versions': [version]}
        if chance.random() < 0.25:
            second = copy.deepcopy(version)
            second.update({'name': chance.choice(['v1beta1', 'v2', 'v1alpha1']), 'storage': False})
            spec['versions'].append(second)
        if chance.random() < 0.15:
            spec['conversion'] = {'strategy': 'None'}
        if chance.random() < 0.1:
            spec['preserveUnknownFields'] = False
        return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': f'{self.plural}.{self.group}'}, 'spec': spec}

    def nearly(self):
        """A definition with faults, as a dry run."""
        chance = self.chance
        body = self.definition(chance.choice([0.0, 0.15, 0.3, 0.6]))
        for _ in range(chance.choice([0, 1, 1, 2])):
            self.spoil(body)
        query = {'dryRun': 'All'}
        if chance.random() < 0.4:
            query['fieldValidation'] = chance.choice(['Strict', 'Ignore'])
        content = 'application/yaml' if chance.random() < 0.05 else 'application/json'
        return Request('nearly valid definition', 'POST', CRDS + '?' + urllib.parse.urlencode(query), compact(body), content)

    def spoil(self, body):
        chance, spec = self.chance, body['spec']
        version = (spec['versions'] or [{}])[0]

        def put(holder, name, value):
            holder[name] = value
        chance.choice([
            lambda: put(body['metadata'], 'name', chance.choice(['x', 'things', f'other.{self.group}', ''])),
            lambda: put(spec, 'group', chance.choice(['', 'x', 'Bad_Group', 'a.k8s.io', 'x.kubernetes.io', 'example.com'])),
            lambda: put(spec, 'scope', chance.choice(['', 'Bogus', 'namespaced', None])),
            lambda: put(spec['names'], chance.choice(['plural', 'singular', 'kind', 'listKind', 'shortNames', 'categories']), chance.choice(['', 'Bad_Name', 'thing', 'Thing', 'x' * 64, ['a'], ['Bad_Name'], ['a', 'a'], [''], None, 5])),
            lambda: put(version, 'name', chance.choice(['', 'V1', 'v1.2', 'x' * 64, 'bogus', 'v1'])),
            lambda: put(version, chance.choice(['served', 'storage']), chance.choice([False, None, 'x'])),
            lambda: put(version, 'schema', chance.choice([None, {}, {'openAPIV3Schema': {}}, {'openAPIV3Schema': {'type': 'string'}}, {'openAPIV3Schema': None}, {'openAPIV3Schema': {'type': 'object', 'nullable': True}},
                                                          {'openAPIV3Schema': {'type': 'object', 'default': {}}}, {'openAPIV3Schema': {'type': 'object', 'properties': {'status': {'type': 'string'}, 'metadata': {'type': 'object', 'properties': {'labels': {}}}}}},
                                                          {'openAPIV3Schema': {'type': 'object', 'required': ['spec', 'status'], 'properties': {'spec': {'type': 'object', 'additionalProperties': {'type': 'string'}, 'properties': {'a': {'type': 'string'}}}}}}])),
            lambda: put(version, 'additionalPrinterColumns', [copy.deepcopy(chance.choice(ODD_COLUMNS))]),
            lambda: put(version, 'subresources', chance.choice([{}, None, {'scale': {}}, {'scale': {'specReplicasPath': 'spec.x', 'statusReplicasPath': '.status.x'}}, {'scale': {'specReplicasPath': '.spec.x', 'statusReplicasPath': '.spec.x'}},
                                                                {'scale': {'specReplicasPath': '.status.x', 'statusReplicasPath': '.status.x', 'labelSelectorPath': '.x'}}, {'scale': {'specReplicasPath': '.spec.a[0]', 'statusReplicasPath': '.status.x', 'labelSelectorPath': ''}},
                                                                {'status': None}, {'status': 'x'}, {'bogus': {}}])),
            lambda: put(version, 'selectableFields', chance.choice([[{'jsonPath': '.spec.nothing'}], [{'jsonPath': 'spec.a'}], [{'jsonPath': ''}], [{}], [{'jsonPath': '.metadata.name'}], [{'jsonPath': '.spec.a'}, {'jsonPath': '.spec.a'}],
                                                                    [{'jsonPath': '.spec'}], [{'jsonPath': '.spec.list[0]'}], [{'jsonPath': '.spec.a'}] * 9, [{'jsonPath': '.spec.a['}]])),
            lambda: put(spec, 'conversion', chance.choice([{'strategy': 'Webhook'}, {'strategy': 'Bogus'}, {}, {'strategy': 'None', 'webhook': {'conversionReviewVersions': ['v1']}}, {'strategy': 'Webhook', 'webhook': {'conversionReviewVersions': ['v1']}},
                                                           {'strategy': 'Webhook', 'webhook': {'clientConfig': {'url': 'http://x'}, 'conversionReviewVersions': ['v1']}}, {'strategy': 'Webhook', 'webhook': {'clientConfig': {'url': 'https://x.example'}, 'conversionReviewVersions': ['v9']}},
                                                           {'strategy': 'Webhook', 'webhook': {'clientConfig': {'url': 'https://x.example', 'service': {'name': 'a', 'namespace': 'b'}}, 'conversionReviewVersions': ['v1', 'v1']}},
                                                           {'strategy': 'Webhook', 'webhook': {'clientConfig': {'service': {'name': '', 'namespace': 'b', 'port': 70000, 'path': 'x'}}, 'conversionReviewVersions': []}},
                                                           {'strategy': 'Webhook', 'webhook': {'clientConfig': {'url': 'https://x.example', 'caBundle': 'eA=='}, 'conversionReviewVersions': ['v1']}}])),
            lambda: put(spec, 'versions', chance.choice([[], None, [version, version], [{**version, 'storage': False}], [version, {**version, 'name': 'v2'}], [{**version, 'served': False}], [{'name': 'v1', 'served': True, 'storage': True}]])),
            lambda: put(spec, 'preserveUnknownFields', True),
            lambda: put(version, 'deprecationWarning', chance.choice(['', 'x' * 300, 'a\nb', 'use v2'])),
            lambda: put(chance.choice([body, spec, version, spec['names']]), 'bogus', 1),
            lambda: put(body['metadata'], 'annotations', chance.choice([{'api-approved.kubernetes.io': 'x'}, {'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1'}, {'api-approved.kubernetes.io': 'unapproved'}])),
            lambda: put(body, 'status', {'storedVersions': ['v9']}),
        ])()

    # The life of a valid one.

    @property
    def collection(self):
        return f"/apis/{self.group}/v1" + (f'/namespaces/{self.namespace}' if self.namespaced else '') + f'/{self.plural}'

    def thing(self, oddness, name=None):
        shapes = Shapes(self.chance)
        made = {'apiVersion': f'{self.group}/v1', 'kind': 'Thing', 'metadata': {'name': name or self.name}}
        properties = self.body['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']
        if self.chance.random() < 0.95:
            made['spec'] = shapes.sample(properties['spec'], oddness)
        if 'status' in properties and self.chance.random() < 0.2:
            made['status'] = shapes.sample(properties['status'], oddness)
        if self.chance.random() < oddness * 0.5:
            made[self.chance.choice(['bogus', 'data'])] = 1
        if self.chance.random() < oddness * 0.4:
            made['metadata'].update(copy.deepcopy(self.chance.choice([{'labels': {'a': 5}}, {'labels': {'bad key': 'x'}}, {'bogus': 1}, {'finalizers': ['x']}, {'annotations': {'a': None}}, {'labels': None}, {'generation': 5},
                                                                       {'creationTimestamp': 'x'}, {'ownerReferences': [{}]}, {'managedFields': [{}]}, {'namespace': 'other'}, {'name': 'Bad_Name'}])))
        return made

    def life(self):
        chance = self.chance
        self.body = self.definition()
        yield Request('create definition', 'POST', CRDS, compact(self.body))
        wait = Request('', 'GET', self.collection + '?limit=1')
        wait.until = True
        yield wait
        self.item = f'{self.collection}/{self.name}'
        yield Request('create thing', 'POST', self.collection, compact(self.thing(0.0)))
        steps = [self.create, self.create, self.create, self.put, self.merge_patch, self.merge_patch, self.json_patch, self.apply, self.apply, self.apply, self.table, self.list, self.part, self.part, self.scale, self.get]
        for _ in range(chance.randint(10, 16)):
            yield chance.choice(steps)()
        if chance.random() < 0.7:
            yield self.redefine()
            yield self.in_effect()
            for _ in range(chance.randint(4, 8)):
                yield chance.choice(steps)()
        yield Request('get definition', 'GET', self.path, accept=TABLE if chance.random() < 0.3 else None)
        yield Request('delete things', 'DELETE', self.collection)

    def cleanup(self):
        return [Request('', 'DELETE', self.path)]

    def query(self, path, **more):
        query = dict(more)
        if self.chance.random() < 0.5:
            query['fieldValidation'] = self.chance.choice(['Strict', 'Warn', 'Ignore'])
        if 'fieldManager' not in query and self.chance.random() < 0.4:
            query['fieldManager'] = self.chance.choice(['m1', 'm2'])
        if self.chance.random() < 0.15:
            query['dryRun'] = 'All'
        return path + ('?' + urllib.parse.urlencode(query) if query else '')

    def oddness(self):
        return self.chance.choice([0.0, 0.0, 0.08, 0.2])

    def create(self):
        body = self.thing(self.oddness(), self.name + '-' + self.chance.choice('bcd'))
        return Request('create thing', 'POST', self.query(self.collection), self.text(body), 'application/yaml' if self.chance.random() < 0.06 else 'application/json')

    def put(self):
        body = self.thing(self.oddness())
        return Request('put thing', 'PUT', self.query(self.item), lambda live: compact(merged(body, {'metadata': {'resourceVersion': self.version_of(live)}})))

    @staticmethod
    def version_of(live):
        return (live or {}).get('metadata', {}).get('resourceVersion', '') if isinstance(live, dict) and live.get('kind') == 'Thing' else ''

    def merge_patch(self):
        body = self.thing(self.oddness())
        del body['apiVersion'], body['kind']
        del body['metadata']['name']
        spec = body.get('spec')
        if isinstance(spec, dict):
            for name in list(spec):
                if self.chance.random() < 0.3:
                    spec[name] = self.chance.choice([None, spec[name]])
        return Request('merge patch thing', 'PATCH', self.query(self.item), self.text(body), self.chance.choice([MERGE, MERGE, MERGE, MERGE, STRATEGIC]))

    def json_patch(self):
        chance = self.chance
        value = self.thing(self.oddness()).get('spec')
        operations = []
        for _ in range(chance.choice([1, 2])):
            name = chance.choice(list(value)) if isinstance(value, dict) and value else 'a'
            operation = {'op': chance.choice(['add', 'replace', 'remove', 'test', 'copy']), 'path': f"/spec/{name}" + chance.choice(['', '', '/-', '/0', '/a'])}
            if operation['op'] == 'copy':
                operation['from'] = '/spec/' + chance.choice(['a', 'b', name])
            elif operation['op'] != 'remove':
                operation['value'] = value.get(name) if isinstance(value, dict) else value
            operations.append(operation)
        return Request('json patch thing', 'PATCH', self.query(self.item), compact(operations), JSON_PATCH)

    def apply(self):
        more = {'fieldManager': self.chance.choice(['m1', 'm2', 'm3'])}
        if self.chance.random() < 0.4:
            more['force'] = 'true'
        return Request('apply thing', 'PATCH', self.query(self.item, **more), self.text(self.thing(self.oddness())), APPLY)

    def part(self):
        chance = self.chance
        properties = self.body['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']
        change = {'status': Shapes(chance).sample(properties.get('status', {'type': 'object', 'properties': {'ready': {'type': 'boolean'}}}), self.oddness())}
        if chance.random() < 0.3:
            change['spec'] = self.thing(0.0).get('spec', {})
        if chance.random() < 0.3:
            change['metadata'] = {'labels': {'x': 'y'}, 'annotations': {'x': 'y'}}
        if chance.random() < 0.4:
            return Request('apply status of thing', 'PATCH', self.query(self.item + '/status', fieldManager='m1', force='true'),
                           compact({'apiVersion': f'{self.group}/v1', 'kind': 'Thing', 'metadata': {'name': self.name}, **{name: value for name, value in change.items() if name != 'metadata'}}), APPLY)
        return Request('merge patch status of thing', 'PATCH', self.query(self.item + '/status'), compact(change), MERGE)

    def scale(self):
        chance = self.chance
        path = self.item + '/scale'
        if chance.random() < 0.4:
            return Request('get scale', 'GET', path)
        replicas = chance.choice([0, 3, -1, None, 'x', 2147483648])
        if chance.random() < 0.5:
            return Request('patch scale', 'PATCH', self.query(path), compact({'spec': {'replicas': replicas}}), MERGE)
        return Request('put scale', 'PUT', self.query(path), compact({'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': self.name, 'namespace': self.namespace}, 'spec': {'replicas': replicas}}))

    def get(self):
        return Request('get thing', 'GET', self.item, accept=self.chance.choice([None, None, 'application/yaml', 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', 'application/vnd.kubernetes.protobuf', TABLE]))

    def table(self):
        return Request('table of things', 'GET', self.collection, accept=TABLE)

    def list(self):
        chance = self.chance
        version = self.body['spec']['versions'][0]
        fields = [field['jsonPath'][1:] for field in version.get('selectableFields', [])] + ['metadata.name', 'spec.a', 'metadata.namespace']
        query = {}
        if chance.random() < 0.7:
            query['fieldSelector'] = chance.choice(fields) + chance.choice(['=', '!=']) + chance.choice(['a', '', '1', 'true', self.name])
        if chance.random() < 0.3:
            query['limit'] = '2'
        return Request('list things', 'GET', self.collection + ('?' + urllib.parse.urlencode(query) if query else ''))

    def mark(self):
        """A column of all versions by which a definition that was just changed is known."""
        self.changes = getattr(self, 'changes', 0) + 1
        for version in self.body['spec']['versions']:
            columns = [column for column in version.get('additionalPrinterColumns') or [] if not column['name'].startswith('Mark')]
            version['additionalPrinterColumns'] = [*columns, {'name': f'Mark{self.changes}', 'type': 'string', 'jsonPath': '.metadata.name', 'priority': 9}]

    def in_effect(self):
        """Upstream serves a changed definition some time after it has answered its change."""
        wait, mark = Request('', 'GET', self.collection + '?limit=1', accept=TABLE), f'"Mark{self.changes}"'
        tries = {}  # by server: where the change was refused there is nothing to wait for

        def seen(code, text):
            server = threading.get_ident()
            tries[server] = tries.get(server, 0) + 1
            return code == 200 and mark in text or tries[server] > 40
        wait.until = seen
        return wait

    def redefine(self):
        """The definition with another schema: what is stored need not fit it."""
        chance = self.chance
        schema = self.body['spec']['versions'][0]['schema']['openAPIV3Schema']
        if chance.random() < 0.5:
            changed = Shapes(chance).root()
        else:
            changed = copy.deepcopy(schema)
            spec = changed['properties']['spec']
            for name, of in spec['properties'].items():
                if of.get('type') == 'string' and chance.random() < 0.5:
                    of.update(chance.choice([{'maxLength': 1}, {'enum': ['zzz']}, {'pattern': '^z'}, {'minLength': 20}]))
                elif of.get('type') in ('integer', 'number') and chance.random() < 0.5:
                    of.update({'minimum': 1000})
                    of.pop('maximum', None)
                    of.pop('default', None)
                elif of.get('type') == 'array' and chance.random() < 0.5:
                    of.update({'maxItems': 0})
                if 'default' in of and chance.random() < 0.7:
                    del of['default']
        for version in self.body['spec']['versions']:
            version['schema']['openAPIV3Schema'] = changed
            version.pop('selectableFields', None)
        self.mark()
        return Request('change definition', 'PATCH', self.path, compact({'spec': {'versions': self.body['spec']['versions']}}), MERGE)
