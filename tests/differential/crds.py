"""Conversations about generated CustomResourceDefinitions: the definition itself, nearly valid; or a valid one and objects of the
kind that it makes, its change, and what then becomes of the objects."""
import copy
import random
import threading
import types
import urllib.parse

import cases
from cases import APPLY, JSON_PATCH, MERGE, STRATEGIC, TABLE, Request, compact, merged

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
FORMATS = ['date-time', 'date', 'ipv4', 'ipv6', 'cidr', 'uri', 'email', 'hostname', 'uuid', 'byte', 'duration', 'password', 'mac', 'k8s-short-name', 'k8s-long-name', 'bogus', 'int32']
TEXTS = ['a', 'b', 'abc', '2031-01-01T00:00:00Z', '2031-01-01', '10.0.0.1', 'fd00::1', '10.0.0.0/8', 'https://a.example/x', 'a@example.com', 'a.example.com', 'YQ==', '1h', '01:23:45:67:89:ab',
         'aaaaaaaa-0000-4000-8000-000000000001', '', 'Bad Text', 'é', '5', 'true', 'x' * 70]
RULES = {
    'string': ["self.size() > 0", "self != 'b'", "self.startsWith('a')", "self.matches('^[a-z]+$')", "self == oldSelf", "self.size() <= 10 || self.contains('x')", "self in ['a', 'b', 'abc']", "self.lowerAscii() == self",
               "!self.endsWith('c')", "self.split(',').size() < 3", "self == oldSelf || oldSelf == ''", "isIP(self) || self == ''", "quantity(self).isGreaterThan(quantity('1'))", "self.find('[0-9]+') == ''"],
    'integer': ["self > 0", "self % 2 == 0", "self <= 100", "self >= oldSelf", "self != 3", "1 / self > 0", "self == oldSelf", "double(self) < 10.5", "self in [1, 2, 5]"],
    'number': ["self > 0.5", "self < 100.0", "self != 2.5", "self >= oldSelf"],
    'boolean': ["self", "!self || true", "self == oldSelf"],
    'array': ["self.size() < 3", "self.size() > 0", "self == oldSelf", "size(self) >= size(oldSelf)", "self.isSorted()", "self.all(x, x == x)", "self.exists(x, x != x) == false"],
    'object': ["has(self.a)", "!has(self.b)", "self == oldSelf", "has(self.a) == has(self.c)"],
    'map': ["self.size() < 3", "self.all(k, k != 'b')", "'a' in self", "self == oldSelf", "self.exists(k, k.startsWith('a'))"],
}
ODD_RULES = ['', ' ', 'self.', 'nothing', 'self.nothing > 1', '1 +', "self == 'a'", 'self > 1', 'size(self)', 'oldSelf', 'self.all(x, self.all(y, self.all(z, x == y && y == z)))', 'true', 'false', '1', "'a'", 'self.a.b.c', 'has(self)',
             'self.x == oldSelf.x', 'self.map(x, x)', 'true ||', "self.matches('[')", "duration('x') > duration('1h')", 'dyn(self) == 1', 'self == null', 'self.b', 'true\n&& false', 'self[0] == 1', 'self.size() > 1u', 'unknown(self)']
REASONS = ['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate', 'Bogus', '']
PATHS = ['.a', '.b', '.a.b', 'a', '.nothing', "['a']", '.a[0]', '', '.c', ".['a']", '.a.', '..a']
COLUMNS = [{'name': 'A', 'type': 'string', 'jsonPath': '.spec.a'}, {'name': 'B', 'type': 'integer', 'jsonPath': '.spec.b'}, {'name': 'Age', 'type': 'date', 'jsonPath': '.metadata.creationTimestamp'},
           {'name': 'C', 'type': 'number', 'jsonPath': '.spec.c', 'priority': 1}, {'name': 'D', 'type': 'boolean', 'jsonPath': '.status.ready'}, {'name': 'E', 'type': 'string', 'jsonPath': '.spec.list[*]', 'format': 'byte'},
           {'name': 'F', 'type': 'string', 'jsonPath': '.metadata.name', 'description': 'x'}, {'name': 'G', 'type': 'date', 'jsonPath': '.spec.a'}, {'name': 'H', 'type': 'string', 'jsonPath': '.spec'},
           {'name': 'I', 'type': 'string', 'jsonPath': ".spec.items[?(@.name=='a')].value"}, {'name': 'J', 'type': 'integer', 'jsonPath': '.spec.a'}, {'name': 'K', 'type': 'string', 'jsonPath': '.spec.map.a'}]
ODD_COLUMNS = [{'name': 'A', 'type': 'bogus', 'jsonPath': '.spec.a'}, {'name': '', 'type': 'string', 'jsonPath': '.a'}, {'name': 'X', 'type': 'string', 'jsonPath': 'spec.a'}, {'name': 'X', 'type': 'string', 'jsonPath': '.spec['},
               {'name': 'X', 'type': 'string'}, {'type': 'string', 'jsonPath': '.a'}, {'name': 'X', 'type': 'string', 'jsonPath': '.a', 'format': 'bogus'}, {'name': 'X', 'jsonPath': '.a'}, {'name': 'X', 'type': 'string', 'jsonPath': '{.a}'},
               {'name': 'X', 'type': 'integer', 'format': 'int32', 'jsonPath': '.spec.b', 'priority': -1}]


class Shapes:
    """Random structural schemas; the larger `oddness` (0 … 1), the less likely that they are allowed."""

    def __init__(self, chance, oddness=0.0):
        self.chance, self.oddness = chance, oddness

    def odd(self, scale=1.0):
        return self.chance.random() < self.oddness * scale

    def root(self):
        chance = self.chance
        spec = self.object(1)
        spec['properties'].setdefault('a', {'type': 'string'})
        root = {'type': 'object', 'properties': {'spec': spec}}
        if chance.random() < 0.8:
            root['properties']['status'] = {'type': 'object', 'properties': {'ready': {'type': 'boolean'}, 'replicas': {'type': 'integer'}, 'selector': {'type': 'string'}, 'notes': {'type': 'array', 'items': {'type': 'string'}}}}
        if chance.random() < 0.2:
            root['required'] = ['spec']
        if chance.random() < 0.2:
            root['x-kubernetes-validations'] = [chance.choice([{'rule': "self.metadata.name.size() < 60"}, {'rule': "self.metadata.name.startsWith('dif')", 'message': 'wrong start'}, {'rule': 'has(self.spec)'}])]
        if chance.random() < 0.1:
            root['properties']['metadata'] = {'type': 'object', 'properties': {'name': chance.choice([{'type': 'string', 'maxLength': 40}, {'type': 'string', 'pattern': '^dif'}])}}
        if chance.random() < 0.07:
            root['x-kubernetes-preserve-unknown-fields'] = True
        return root

    def node(self, depth):
        chance = self.chance
        kinds = ['string', 'string', 'integer', 'number', 'boolean', 'int-or-string', 'array', 'array', 'object', 'map', 'open', 'resource']
        if depth >= 4:
            kinds = kinds[:6]
        kind = chance.choice(kinds)
        node = getattr(self, {'int-or-string': 'either', 'open': 'open_node'}.get(kind, kind))(depth)
        if chance.random() < 0.12:
            node['nullable'] = True
        if chance.random() < 0.22 and kind in RULES:
            node['x-kubernetes-validations'] = [self.rule(kind) for _ in range(chance.choice([1, 1, 2]))]
        if chance.random() < 0.22 and kind not in ('resource',):
            node['default'] = self.sample(node, self.oddness * 0.5)
        if chance.random() < 0.06 and kind in ('string', 'integer'):
            way = chance.choice(['anyOf', 'oneOf', 'allOf', 'not'])
            parts = [{'enum': [self.sample(node)]}, {'minLength': 1} if kind == 'string' else {'minimum': 1}]
            node[way] = parts[0] if way == 'not' else parts
        if self.odd(0.25):
            self.spoil(node)
        return node

    def spoil(self, node):
        chance = self.chance
        name, value = chance.choice([('type', 'bogus'), ('type', ''), ('type', None), ('x-kubernetes-preserve-unknown-fields', False), ('x-kubernetes-preserve-unknown-fields', True), ('x-kubernetes-int-or-string', True),
            ('x-kubernetes-embedded-resource', True), ('x-kubernetes-list-type', 'map'), ('x-kubernetes-list-type', 'bogus'), ('x-kubernetes-list-map-keys', ['name']), ('x-kubernetes-map-type', 'bogus'), ('x-kubernetes-map-type', 'atomic'),
            ('uniqueItems', True), ('additionalProperties', False), ('additionalProperties', True), ('additionalProperties', {'type': 'string'}), ('pattern', '['), ('default', 'x'), ('default', {'nothing': 1}), ('default', None), ('enum', []),
            ('$ref', '#/x'), ('patternProperties', {'a': {}}), ('dependencies', {'a': ['b']}), ('items', [{'type': 'string'}]), ('maxLength', -1), ('minimum', 5), ('format', 5), ('id', 'x'), ('$schema', 'x'), ('definitions', {'a': {}}),
            ('nullable', True), ('anyOf', [{'type': 'string'}]), ('oneOf', [{'description': 'x'}]), ('allOf', [{'properties': {'q': {}}}]), ('not', {'default': 1}), ('required', ['nothing']), ('required', ['a', 'a']), ('required', []),
            ('maxItems', 5), ('maxProperties', 2), ('multipleOf', 0), ('exclusiveMinimum', 5), ('title', 'x'), ('description', 'x'), ('externalDocs', {'url': 'x'}), ('example', 1), ('x-kubernetes-validations', [{'rule': ''}]),
            ('anyOf', [{'properties': {'a': {'type': 'string'}}}]), ('properties', {'metadata': {'type': 'string'}}), ('minimum', 'x'), ('properties', None), ('items', None), ('bogus', 1)])
        node[name] = value

    def rule(self, kind):
        chance = self.chance
        rule = {'rule': chance.choice(ODD_RULES if self.odd(0.6) else RULES[kind])}
        if chance.random() < 0.3:
            rule['message'] = chance.choice(['no good', 'a\nb', '', ' ', 'x' * 2100]) if self.odd(0.5) else 'no good'
        if chance.random() < 0.2:
            rule['messageExpression'] = chance.choice(["'no ' + string(self)", "'fixed'", '1', '', 'self', 'nothing', "'a' +"]) if self.odd() or kind in ('object', 'array', 'map', 'boolean') and self.odd() else "'fixed ' + 'text'"
        if chance.random() < 0.2:
            rule['reason'] = chance.choice(REASONS if self.odd() else REASONS[:4])
        if chance.random() < 0.12 and (kind == 'object' or self.odd()):
            rule['fieldPath'] = chance.choice(PATHS if self.odd() else ['.a'])
        if chance.random() < 0.08:
            rule['optionalOldSelf'] = chance.random() < 0.7
            if rule['optionalOldSelf'] and not self.odd():
                rule['rule'] = 'oldSelf.hasValue() || true'
        return rule

    def string(self, _):
        chance, node = self.chance, {'type': 'string'}
        if chance.random() < 0.3:
            node['format'] = chance.choice(FORMATS)
        elif chance.random() < 0.25:
            node['enum'] = chance.sample(['a', 'b', 'abc', ''], chance.choice([1, 2, 3]))
        if chance.random() < 0.2:
            node['minLength'] = chance.choice([0, 1, 2])
        if chance.random() < 0.3:
            node['maxLength'] = chance.choice([3, 10, 50])
        if chance.random() < 0.15:
            node['pattern'] = chance.choice(['^[a-z]+$', '^a', '.*', '[0-9]'])
        return node

    def integer(self, _):
        chance, node = self.chance, {'type': 'integer'}
        if chance.random() < 0.3:
            node['format'] = chance.choice(['int32', 'int64'])
        return self.bounds(node)

    def number(self, _):
        node = {'type': 'number'}
        if self.chance.random() < 0.2:
            node['format'] = self.chance.choice(['float', 'double'])
        return self.bounds(node)

    def bounds(self, node):
        chance = self.chance
        if chance.random() < 0.3:
            node['minimum'] = chance.choice([0, 1, 2])
            if chance.random() < 0.3:
                node['exclusiveMinimum'] = True
        if chance.random() < 0.3:
            node['maximum'] = chance.choice([5, 10, 100])
            if chance.random() < 0.2:
                node['exclusiveMaximum'] = True
        if chance.random() < 0.12:
            node['multipleOf'] = chance.choice([2, 5])
        if chance.random() < 0.1:
            node['enum'] = [1, 2, 5]
        return node

    def boolean(self, _):
        return {'type': 'boolean'}

    def either(self, _):
        node = {'x-kubernetes-int-or-string': True}
        if self.chance.random() < 0.3:
            node['anyOf'] = [{'type': 'integer'}, {'type': 'string'}]
        return node

    def array(self, depth):
        chance = self.chance
        way = chance.choice(['plain', 'set', 'map', 'atomic', 'plain'])
        node = {'type': 'array'}
        if way == 'map':
            fields = {'name': {'type': 'string'}, 'value': self.node(depth + 2)}
            keys = ['name']
            if chance.random() < 0.3:
                fields['port'] = {'type': 'integer', **({'default': 80} if chance.random() < 0.7 else {})}
                keys.append('port')
            item = {'type': 'object', 'properties': fields}
            if chance.random() < 0.8 or len(keys) == 2 and 'default' not in fields['port']:
                item['required'] = [key for key in keys if 'default' not in fields[key]] if not self.odd(0.3) else ['value']
            else:
                fields['name']['default'] = 'a'
            node.update({'items': item, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys})
        elif way == 'set':
            node.update({'items': chance.choice([{'type': 'string'}, {'type': 'integer'}]) if not self.odd(0.3) else self.node(depth + 1), 'x-kubernetes-list-type': 'set'})
        else:
            node['items'] = self.node(depth + 1)
            if way == 'atomic':
                node['x-kubernetes-list-type'] = 'atomic'
        if chance.random() < 0.4:
            node['maxItems'] = chance.choice([2, 3, 10])
        if chance.random() < 0.15:
            node['minItems'] = 1
        return node

    def object(self, depth):
        chance = self.chance
        names = chance.sample(['a', 'b', 'c', 'list', 'items', 'map', 'nested', 'x-y', 'replicas', 'default'], chance.choice([1, 2, 3, 4]))
        node = {'type': 'object', 'properties': {name: self.node(depth + 1) if name != 'replicas' else {'type': 'integer'} for name in names}}
        if chance.random() < 0.25:
            node['required'] = [chance.choice(names)]
        if chance.random() < 0.1:
            node['x-kubernetes-map-type'] = chance.choice(['atomic', 'granular'])
        if chance.random() < 0.06:
            node['x-kubernetes-preserve-unknown-fields'] = True
        if chance.random() < 0.08:
            node['oneOf'] = [{'required': [name]} for name in names[:2]]
        if chance.random() < 0.08:
            node['minProperties'] = 1
        return node

    def map(self, depth):
        chance = self.chance
        node = {'type': 'object', 'additionalProperties': self.node(depth + 1)}
        if chance.random() < 0.5:
            node['maxProperties'] = chance.choice([1, 2, 5])
        return node

    def open_node(self, _):
        return self.chance.choice([{'x-kubernetes-preserve-unknown-fields': True}, {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True},
                                   {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True, 'properties': {'a': {'type': 'integer', 'default': 1}}}])

    def resource(self, _):
        return {'type': 'object', 'x-kubernetes-embedded-resource': True, **({'x-kubernetes-preserve-unknown-fields': True} if self.chance.random() < 0.7 else {'properties': {'spec': {'type': 'object'}}})}

    def sample(self, node, oddness=0.0):
        """A value for a schema, mostly fitting."""
        chance = self.chance
        if chance.random() < oddness:
            return chance.choice([None, 1, -1, 1.5, 'x', '', True, [], {}, [1], ['a'], {'a': 'b'}, {'bogus': 1}, [None], 1e20, 'Bad Text'])
        if node.get('nullable') and chance.random() < 0.15:
            return None
        if node.get('enum') and chance.random() < 0.95:
            return chance.choice(node['enum'])
        if node.get('x-kubernetes-int-or-string'):
            return chance.choice([1, 'x', '50%'])
        if node.get('x-kubernetes-embedded-resource'):
            return chance.choice([{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'x'}}, {'apiVersion': 'v1', 'kind': 'Pod', 'spec': {'a': 1}}] + ([{'metadata': {'name': 'Bad Name'}}, {'kind': 'x'}] if oddness else []))
        kind = node.get('type')
        if kind == 'string':
            fitting = {'date-time': TEXTS[3], 'date': TEXTS[4], 'ipv4': TEXTS[5], 'ipv6': TEXTS[6], 'cidr': TEXTS[7], 'uri': TEXTS[8], 'email': TEXTS[9], 'hostname': TEXTS[10], 'byte': TEXTS[11], 'duration': TEXTS[12], 'mac': TEXTS[13], 'uuid': TEXTS[14]}
            if node.get('format') in fitting and chance.random() > oddness:
                return fitting[node['format']]
            return chance.choice(TEXTS if chance.random() < oddness + 0.05 else ['a', 'abc', 'ab'])
        if kind == 'integer':
            return chance.choice([1, 2, 4, 5, 10] if chance.random() > oddness else [0, -1, 3, 101, 2147483648, 9223372036854775807, 1.0, 2.5])
        if kind == 'number':
            return chance.choice([1, 2, 4.0, 5] if chance.random() > oddness else [0, -0.5, 2.5, 1e21, 100.5])
        if kind == 'boolean':
            return chance.random() < 0.5
        if kind == 'array':
            count = chance.choice([1, 1, 2, 2, 3]) if chance.random() > 0.1 else 0
            values = [self.sample(node.get('items') or {}, oddness) for _ in range(count)]
            if node.get('x-kubernetes-list-type') == 'map' and chance.random() > oddness:
                for index, value in enumerate(values):
                    if isinstance(value, dict):
                        value['name'] = 'abc'[index % 3]
            elif node.get('x-kubernetes-list-type') == 'set' and chance.random() > oddness:
                values = [value for index, value in enumerate(values) if value not in values[:index]]
            return values
        if kind == 'object' and isinstance(node.get('additionalProperties'), dict):
            return {key: self.sample(node['additionalProperties'], oddness) for key in chance.sample(['a', 'b', 'c'], chance.choice([0, 1, 1, 2]))}
        if kind == 'object' and node.get('properties'):
            required = node.get('required') or []
            made = {name: self.sample(of, oddness) for name, of in node['properties'].items() if name in required and chance.random() > oddness * 0.5 or chance.random() < 0.6}
            if chance.random() < oddness * 0.7:
                made[chance.choice(['bogus', 'A', 'metadata'])] = chance.choice([1, {}, 'x', None])
            return made
        return chance.choice([{'k': 1}, {}, {'k': {'l': [1, 'a']}}]) if kind == 'object' or not kind else None


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
