"""Random values for a field: by its schema and by what its name lets one guess, mostly fitting, sometimes odd."""

LONG = 'x' * 64
VERY_LONG = 'y' * 254
WORDS = ['a', 'b', 'web', 'foo.bar', 'example.com/x', 'a-b', 'A', 'ab1']
ODD_TEXTS = ['', ' ', 'Bad_Name', 'a/b', 'a b', '-x', 'x-', '.', '..', 'UPPER', 'é', 'a\nb', 'a..b', 'a/b/c', '/x', 'x/', '*', '1',
             'true', 'null', 'None', 'kubernetes.io/x', '$(A)', '"q"', '<&>', '日本', '\u0001', LONG, VERY_LONG, 'a.' * 130, '0x1']
INTEGERS = [0, 1, 2, 3, 5, 10, 30, 80, 100, 443, 8080]
ODD_INTEGERS = [-1, -2, 0, 7, 101, 255, 256, 300, 511, 512, 1000, 1025, 3600, 65535, 65536, 70000, 86400, 86401, 1000000, 2147483647, 2147483648,
                -2147483648, -2147483649, 9223372036854775807, 9223372036854775808, -9223372036854775808]
NUMBERS = [1.5, 0.1, -0.5, 1e6, 1e21, 1e-7, 2.0, 123456789.5]
QUANTITIES = ['1', '2', '10', '100m', '0.5', '1Gi', '64Mi', '1500M', '1k', 2, '1e3']
ODD_QUANTITIES = ['0', '-1', '-1Gi', '1.5', '0.1m', '1.0001', 'abc', '', '1 Gi', '1gi', 1.5, '1Ei', '9999999999999999999', '1e30', '1n', '12E', ' 1', '+1',
                  '.5', '5.', 'Gi', True]
TIMES = ['2031-01-01T00:00:00Z', '2020-02-03T04:05:06Z', '2031-01-01T01:00:00+01:00', '2031-01-01T00:00:00.5Z']
ODD_TIMES = ['', '2031-01-01', 'now', '2031-13-01T00:00:00Z', '0001-01-01T00:00:00Z', '2031-01-01T00:00:00', 5]
ADDRESSES = ['10.0.0.1', '192.0.2.4', 'fd00::1', '2001:db8::5']
ODD_ADDRESSES = ['', '010.0.0.1', '::ffff:1.2.3.4', '300.1.1.1', '1.2.3', '0.0.0.0', '127.0.0.1', '::', '::1', '224.0.0.1', '169.254.1.1', 'ff02::1',
                 'FD00::1', 'fe80::1', 'a.b', '255.255.255.255', '1.2.3.4/5']
CIDRS = ['10.0.0.0/8', '192.0.2.0/24', 'fd00::/64']
ODD_CIDRS = ['', '10.0.0.1/8', '10.0.0.0/33', '010.0.0.0/8', 'fd00::1/64', '10.0.0.0', '::ffff:1.2.3.0/120', 'x', '10.0.0.0/08', '0.0.0.0/0', '::/0']
PATHS = ['/a', '/a/b', 'a', 'a/b', '/']
ODD_PATHS = ['', '../a', 'a/../b', '..', '/..', '..a', 'a:b', '/' + LONG * 5, './a', '//', 'a//b', '/a%2fb', 'C:\\x', '/a?b=c']
PORTS = [80, 443, 8080, 'http', 'web', 53]
ODD_PORTS = [0, -1, 65535, 65536, '', '80', 'Bad_Port', 'a--b', '-a', 'toolongportname1', '0', 1.5, '1a', 'A']
KEYS = ['a', 'app', 'example.com/k', 'kubernetes.io/hostname', 'zone']
ODD_KEYS = ['', 'Bad Key', 'a/b/c', '/x', 'x/', 'UPPER.com/x', LONG, VERY_LONG + '/x', 'é', 'kubernetes.io/arch', '_x', 'node.kubernetes.io/x']
NAMES = ['a', 'web', 'x1', 'a-b', 'foo.bar']
IMAGES = ['nginx', 'example.com/a:1', 'a@sha256:' + '0' * 64]
ODD_IMAGES = ['', ' nginx', 'nginx ', 'a b', 'UPPER', 'a@sha256:1', 'a:', ':x']
EXPRESSIONS = ['true', 'object.metadata.name == "x"', "'a'", '1 + 1', 'object.spec.x > 2', 'device.driver == "d"']
ODD_EXPRESSIONS = ['', ' ', '1 +', 'nothing', 'object.', 'true\nfalse', 'size(1)', '"a" + 1']
LABELS = [{}, {'a': 'b'}, {'app': 'web', 'example.com/x': '1'}]
ODD_LABELS = [{'bad key': 'x'}, {'a': 'bad value!'}, {'a': LONG}, {'': ''}, {'/x': 'y'}, {'a': ''}, {'a/b/c': 'd'}, {'A': 'B', 'é': 'f'}]
VERBS = ['get', 'list', '*', 'create', 'CREATE', 'UPDATE', 'DELETE', 'CONNECT']

# Pools by how a field is called: the first that fits.
BY_NAME = [
    (lambda n: n in ('cidr', 'podCIDR', 'except', 'cidrs', 'podCIDRs', 'loadBalancerSourceRanges'), CIDRS, ODD_CIDRS),
    (lambda n: n in ('ip', 'clusterIP', 'clusterIPs', 'externalIPs', 'loadBalancerIP', 'podIP', 'hostIP', 'nameservers', 'addresses', 'address'),
     ADDRESSES, ODD_ADDRESSES),
    (lambda n: n.lower().endswith('path') or n in ('nonResourceURLs', 'devicePath', 'subPathExpr'), PATHS, ODD_PATHS),
    (lambda n: n == 'image' or n == 'reference', IMAGES, ODD_IMAGES),
    (lambda n: n.lower().endswith('expression'), EXPRESSIONS, ODD_EXPRESSIONS),
    (lambda n: n in ('key', 'topologyKey', 'matchAttribute'), KEYS, ODD_KEYS),
    (lambda n: n in ('verbs', 'operations'), VERBS, ['', 'Get', 'BOGUS']),
    (lambda n: n in ('operator',), ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Equal'], ['', 'in', 'Bogus']),
    (lambda n: n in ('schedule',), ['* * * * *', '@daily', '5 4 * * 1'], ['', '* * *', '60 * * * *', 'TZ=UTC * * * * *', '@every 1h', '@never', '*/0 * * * *']),
    (lambda n: n in ('uid',), ['aaaaaaaa-0000-4000-8000-000000000001'], ['', 'x']),
    (lambda n: n == 'name' or n.endswith('Name'), NAMES, ODD_TEXTS),
    (lambda n: n in ('apiVersion',), ['v1', 'apps/v1'], ['', 'a/b/c', 'x', '/v1', 'v1/']),
    (lambda n: n in ('url', 'diskURI'), ['https://a.example/x'], ['', 'http://a', 'https://a?x=y', 'https://u@a/', 'https://a#f', 'x', 'https://', '://']),
]


class Values:
    """Draws from one source of chance."""

    def __init__(self, chance):
        self.chance = chance

    def pick(self, usual, odd, oddness):
        return self.chance.choice(odd if self.chance.random() < oddness else usual)

    def text(self, name, schema, oddness):
        enum = schema.raw.get('enum') if schema else None
        if enum:
            return self.pick(enum, ['', 'Bogus', enum[0].lower(), enum[0] + ' '], oddness)
        form = schema.raw.get('format') if schema else None
        if form == 'date-time':
            return self.pick(TIMES, ODD_TIMES, oddness)
        if form == 'byte':
            return self.pick(['YQ==', 'AAEC', ''], ['%%', 'YQ', 'a', 5, [1, 2], [300]], oddness)
        for fits, usual, odd in BY_NAME:
            if fits(name):
                return self.pick(usual, odd, oddness)
        return self.pick(WORDS, ODD_TEXTS, oddness)

    def value(self, schema, name='', oddness=0.15, depth=0):
        """A value of the schema; the larger `oddness` (0 … 1), the less it is likely to be allowed."""
        chance, kind = self.chance, schema.type
        if chance.random() < oddness * 0.1:
            return self.of_wrong_type()
        if kind == 'object':
            return self.object(schema, oddness, depth)
        if kind == 'map':
            if name in ('labels', 'matchLabels', 'nodeSelector', 'selector'):
                return dict(self.pick(LABELS, ODD_LABELS, oddness))
            element = schema.element()
            keys = [self.pick(['a', 'cpu', 'memory', 'storage', 'example.com/x', 'pods'], ODD_KEYS, oddness) for _ in range(chance.randint(0, 2))]
            return {key: self.value(element, name, oddness, depth + 1) for key in keys}
        if kind == 'list':
            element = schema.element()
            count = chance.choice([0, 1, 1, 1, 2, 3]) if depth < 6 else chance.choice([0, 1])
            return [self.value(element, name, oddness, depth + 1) for _ in range(count)]
        if kind == 'boolean':
            return chance.random() < 0.5
        if kind == 'integer':
            if 'ort' in name:
                return self.pick([80, 443, 8080, 1, 30080], [0, -1, 65535, 65536, 70000], oddness)
            return self.pick(INTEGERS, ODD_INTEGERS + NUMBERS, oddness)
        if kind == 'number':
            return self.pick([1, 2.5], NUMBERS, oddness)
        if kind == 'quantity':
            return self.pick(QUANTITIES, ODD_QUANTITIES, oddness)
        if kind == 'int-or-string':
            if 'ort' in name:
                return self.pick(PORTS, ODD_PORTS, oddness)
            return self.pick([1, 0, '10%', '100%', 3], [-1, '-1%', '101%', '5', '', 'x%', '%', 2147483648, 1.5, '1.5%', '007%'], oddness)
        if kind == 'string':
            return self.text(name, schema, oddness)
        return self.pick([{}, {'a': 'b'}, {'kind': 'X', 'apiVersion': 'v1'}], [None, 1, 'x', [], {'a': None}, {'': {}}], oddness)

    def object(self, schema, oddness, depth):
        result, share = {}, (0.5, 0.35, 0.25, 0.15, 0.08)[min(depth, 4)]
        for name, of in schema.properties.items():
            needed = name in schema.required
            if depth == 0 and name in ('status', 'kind', 'apiVersion'):
                continue
            if self.chance.random() < (1 - oddness * 0.2 if needed else share):
                if depth < 7 or of.type not in ('object', 'list', 'map'):
                    result[name] = self.value(of, name, oddness, depth + 1)
        return result

    def of_wrong_type(self):
        return self.chance.choice([1, -1, 1.5, 'x', '', True, False, [], {}, [1], ['a'], {'a': 'b'}, [{}], None, [None], 1e21, '5', {'a': {'b': 1}}])
