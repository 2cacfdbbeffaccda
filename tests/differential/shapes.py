"""Random structural schemas, valid ones or nearly so, and values for them."""
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
ODD_RESOURCES = [{'metadata': {'name': 'Bad Name'}}, {'kind': 'x'}, {'apiVersion': 'a/b/c', 'kind': 'Bad Kind'}, {'apiVersion': '', 'kind': ''}, {'apiVersion': 5, 'kind': 'Pod'}, {'apiVersion': 'v1', 'kind': None},
    *({'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata} for metadata in (
        {'name': 'a/b'}, {'labels': {'a': 5}}, {'labels': {'bad key': 'x'}}, {'annotations': {'Bad Key!': 'x'}}, {'generation': -1}, {'finalizers': ['x']}, {'finalizers': ['Bad/Na me']}, {'ownerReferences': [{}]}, {'namespace': 'Bad_NS'},
        {'namespace': 'ok'}, {'generateName': 'x-'}, {'generateName': '..'}, {'uid': 5}, {'creationTimestamp': None}, {'creationTimestamp': 'x'}, {'deletionTimestamp': '2031-01-01T00:00:00Z'}, {'bogus': 1}, {}, 'x', None,
        {'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'x', 'uid': 'u', 'controller': True}, {'apiVersion': 'v1', 'kind': 'Pod', 'name': 'y', 'uid': 'v', 'controller': True}]}, {'labels': None}, {'labels': {'a': None}}))]


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
        if chance.random() < 0.1 and kind in ('array', 'object', 'map', 'string', 'number', 'int-or-string'):
            node[chance.choice(['anyOf', 'oneOf', 'allOf'])] = [self.narrowed(node) for _ in range(chance.choice([1, 2, 2, 3]))]
        if chance.random() < 0.05 and kind not in ('open', 'resource'):
            node['not'] = self.narrowed(node)
        if self.odd(0.25):
            self.spoil(node)
        return node

    def narrowed(self, node, depth=0):
        """Conditions that a structural schema may have in an alternative: on the value itself and on what is in it."""
        chance, kind, narrow = self.chance, node.get('type'), {}
        if node.get('x-kubernetes-int-or-string'):
            return chance.choice([{'type': 'integer'}, {'type': 'string'}, {'pattern': '^[0-9]+%$'}, {'minimum': 2}, {'maxLength': 3}, {'enum': [1, 'x']}]) if 'anyOf' not in node or self.odd(0.5) else {'maximum': 3}
        if kind == 'string':
            narrow = chance.choice([{'minLength': 2}, {'maxLength': 2}, {'enum': ['a', 'abc']}, {'pattern': '^a'}, {'format': chance.choice(FORMATS)}, {'enum': ['']}])
        elif kind in ('integer', 'number'):
            narrow = chance.choice([{'minimum': 2}, {'maximum': 4}, {'enum': [1, 2]}, {'multipleOf': 2}, {'minimum': 1, 'exclusiveMinimum': True}])
        elif kind == 'array':
            narrow = chance.choice([{'minItems': 1}, {'maxItems': 1}, {'maxItems': 0}, {}])
            if depth < 3 and chance.random() < 0.5:
                narrow['items'] = self.narrowed(node.get('items') or {}, depth + 1)
        elif kind == 'object':
            names = list(node.get('properties') or {})
            narrow = chance.choice([{'required': [chance.choice(names)]} if names else {'minProperties': 1}, {'minProperties': 1}, {'maxProperties': 1}, {}])
            if names and depth < 3 and chance.random() < 0.6:
                narrow['properties'] = {name: self.narrowed(node['properties'][name], depth + 1) for name in chance.sample(names, min(len(names), chance.choice([1, 1, 2])))}
        if depth < 2 and chance.random() < 0.12:
            narrow[chance.choice(['anyOf', 'oneOf', 'allOf'])] = [self.narrowed(node, depth + 1), self.narrowed(node, depth + 1)]
        return narrow

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
        if chance.random() < 0.06 and len(names) > 1:
            node['not'] = {'required': names[:2]}
        if chance.random() < 0.08:
            node['x-kubernetes-validations'] = [self.rule_between(node['properties'])]
        return node

    def rule_between(self, properties):
        """A rule on an object about its members."""
        chance = self.chance
        name = chance.choice(list(properties))
        of = properties[name]
        ours = 'self.' + {'x-y': 'x__dash__y', 'default': 'default'}.get(name, name)
        about = {'string': [f"{ours}.size() > 1", f"{ours} != 'abc'", f"{ours} == oldSelf{ours[4:]}"], 'integer': [f'{ours} > 1', f'{ours} % 2 == 0', f'10 / {ours} > 1'], 'number': [f'{ours} > 1.5'], 'boolean': [ours, f'!{ours}'],
                 'array': [f'{ours}.size() < 3', f'{ours}.exists(x, x == x)'], 'object': [f'{ours} == {ours}', f'size({ours}) >= 0']}
        text = chance.choice(about.get(of.get('type'), [f'has({ours})'])) if not of.get('x-kubernetes-int-or-string') else f"type({ours}) == int ? {ours} > 1 : {ours} != ''"
        rule = {'rule': chance.choice(['', f'!has({ours}) || ']) + text}
        if chance.random() < 0.3:
            rule['messageExpression'] = chance.choice([f"'wrong: ' + string({ours})", "'wrong'", f"has({ours}) ? 'there' : 'not there'", f"'%s is wrong'.format([{ours}])"])
        if chance.random() < 0.3:
            rule['fieldPath'] = '.' + name if '-' not in name else f"['{name}']"
        if chance.random() < 0.3:
            rule['reason'] = chance.choice(REASONS[:4])
        return rule

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
        chance = self.chance
        node = {'type': 'object', 'x-kubernetes-embedded-resource': True, **({'x-kubernetes-preserve-unknown-fields': True} if chance.random() < 0.7 else {'properties': {'spec': {'type': 'object'}}})}
        if chance.random() < 0.2:
            known = node.setdefault('properties', {})
            known.update(chance.choice([{'kind': {'type': 'string', 'enum': ['Pod', 'Service']}}, {'apiVersion': {'type': 'string', **({'default': chance.choice(['v1', 'v1', 'a/b/c', ''])} if self.odd() else {'default': 'v1'})}},
                {'metadata': {'type': 'object', 'properties': {'name': {'type': 'string', **({'default': chance.choice(['x', 'a/b', ''])} if self.odd() else {'maxLength': 10})}, 'labels': {'type': 'object', 'additionalProperties': {'type': 'string', 'maxLength': 3}}}}},
                {'metadata': {'type': 'object', **({'default': chance.choice([{'name': 'x'}, {'labels': {'a': 5}}, {'labels': {'bad key': 'x'}}, {'bogus': 1}, 'x', {}])} if self.odd() else {})}}]))
        return node

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
            return chance.choice([{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'x'}}, {'apiVersion': 'v1', 'kind': 'Pod', 'spec': {'a': 1}}] + (ODD_RESOURCES if oddness else []))
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
