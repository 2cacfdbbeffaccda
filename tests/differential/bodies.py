"""Requests that are odd in what the kind has no part in: content types, broken and foreign bodies, paths, methods, names and
parameters. Mostly dry runs."""
import copy
import json
import urllib.parse

import cases
import values
from cases import APPLY, JSON_PATCH, MERGE, STRATEGIC, Request, compact, merged

CONTENTS = ['application/json', 'application/yaml', '', 'text/plain', 'application/json; charset=utf-8', 'application/xml', 'application/json;as=Table', 'APPLICATION/JSON', MERGE, JSON_PATCH,
            STRATEGIC, APPLY, 'application/apply-patch+cbor', 'application/apply-patch+json', 'application/cbor', 'application/vnd.kubernetes.protobuf', 'bogus', 'application/', '*/*',
            'application/json;stream=watch', 'application/merge-patch+json; charset=utf-8', 'application/yaml; charset=utf-8', 'application/x-www-form-urlencoded', 'multipart/form-data']
BROKEN = ['', ' ', 'null', '[]', '"x"', '5', 'true', '{', '{}', '{"a"', '{"a":', '{"a":1', '{"a":1,}', "{'a':1}", '[1,2', '\ufeff{}', '{}{}', '{} x', '\x00', '{"kind":5}', '{"apiVersion":5}', '{"kind":null}',
          '{"metadata":null}', '{"metadata":[]}', '{"metadata":"x"}', '[{}]', '{"a":NaN}', '{"a":01}', '{"a":+1}',  '{"a":"\\ud800"}', '{"a":"\\x"}', '{"a":"\t"}', '// x\n{}', '{"kind":"Status","apiVersion":"v1"}',
          '{"kind":"List","apiVersion":"v1","items":[]}', '---\n', 'a: b\n c: d', 'a: [1', '\ta: b', 'a: b\na: c', '? x', '&a b: *a', 'a: *b', '- a\n- b', '%YAML 1.1\n---\na: b', 'x', '{"a":' * 60 + '1' + '}' * 60]
YAML_WAYS = ['plain', 'flow', 'documents', 'twice', 'anchor', 'comment', 'tag', 'scalars', 'tab', 'numbers', 'merge']


class Bodies(cases.Case):
    goes_on = True

    def requests(self):
        chance = self.chance
        if not self.shared:
            yield Request('create seed', 'POST', self.collection, compact(self.object))
        steps = [self.broken, self.broken, self.wrong_content, self.foreign, self.yaml, self.yaml, self.named, self.parameters, self.parameters, self.path_only, self.method, self.numbers, self.doubled, self.delete_body]
        for _ in range(chance.randint(6, 10)):
            yield chance.choice(steps)()

    def target(self, writes=('POST', 'PUT', 'PATCH')):
        """(method, path, whether it is a patch's)"""
        method = self.chance.choice(writes)
        return method, (self.collection if method == 'POST' else self.path) + '?dryRun=All'

    def fresh(self, body=None):
        """The object under a name that nothing has."""
        return merged(self.object if body is None else body, {'metadata': {'name': self.name + '-n'}})

    def body_for(self, method):
        return self.fresh() if method == 'POST' else self.object

    def patch_content(self):
        return self.chance.choice([MERGE, STRATEGIC, JSON_PATCH, APPLY])

    def broken(self):
        chance = self.chance
        method, path = self.target()
        content = self.patch_content() if method == 'PATCH' else chance.choice(['application/json'] * 3 + ['application/yaml', 'application/vnd.kubernetes.protobuf', 'application/cbor'])
        if content == APPLY:
            path += '&fieldManager=m1'
        text = chance.choice(BROKEN)
        if chance.random() < 0.2:
            whole = compact(self.body_for(method))
            text = whole[:chance.randrange(len(whole))]
        if chance.random() < 0.3:
            path += '&fieldValidation=' + chance.choice(['Strict', 'Warn', 'Ignore'])
        return Request('broken', method, path, text, content)

    def wrong_content(self):
        method, path = self.target()
        text = compact(self.body_for(method))
        if self.chance.random() < 0.3:
            path += '&fieldManager=m1'
        return Request('content', method, path, text, self.chance.choice(CONTENTS), accept=self.chance.choice([None, None, 'application/yaml', 'text/plain']))

    def foreign(self):
        """An object of another kind or version, or without them."""
        chance = self.chance
        method, path = self.target(('POST', 'PUT', 'PATCH', 'POST', 'PUT'))
        head = chance.choice([{'kind': 'Bogus'}, {'kind': 'ConfigMap', 'apiVersion': 'v1'}, {'apiVersion': 'bogus/v1'}, {'apiVersion': 'apps/v1beta1'}, {'kind': None}, {'apiVersion': None}, {'kind': ''},
                              {'apiVersion': ''}, {'kind': self.resource.kind + 'List'}, {'apiVersion': 'a/b/c'}, {'kind': self.resource.kind.lower()}, {'kind': 'Status', 'apiVersion': 'v1'},
                              {'kind': 'DeleteOptions'}, {'kind': 'Scale', 'apiVersion': 'autoscaling/v1'}, {'kind': None, 'apiVersion': None}, {'apiVersion': 'v1 '}, {'apiVersion': self.resource.version + 'x'},
                              {'apiVersion': self.resource.group + '/v99'}, {'kind': 'Deployment', 'apiVersion': 'apps/v1'}, {'kind': 'Pod', 'apiVersion': 'v1'}])
        content = chance.choice([MERGE, STRATEGIC, APPLY]) if method == 'PATCH' else 'application/json'
        if content == APPLY:
            path += '&fieldManager=m1'
        return Request('foreign', method, path, compact(merged(self.body_for(method), head)), content)

    def yaml(self):
        chance = self.chance
        method, path = self.target(('POST', 'PUT', 'PATCH', 'PATCH'))
        if chance.random() < 0.4:
            path += '&fieldValidation=' + chance.choice(['Strict', 'Warn', 'Ignore'])
        if method == 'PATCH':
            path += '&fieldManager=m1'
        text = yaml_text(self.body_for(method), chance.choice(YAML_WAYS), chance)
        return Request('yaml', method, path, text, APPLY if method == 'PATCH' else 'application/yaml', accept=chance.choice([None, 'application/yaml']))

    def numbers(self):
        """Numbers and texts at the borders, in a place that every kind has."""
        chance = self.chance
        text = compact(self.fresh({**self.object, 'metadata': {**self.object['metadata'], 'generation': 'NUMBER'}}))
        number = chance.choice(['1.0', '1e2', '1.5', '-0', '9223372036854775807', '9223372036854775808', '-9223372036854775809', '1E400', '1e-400', '0.1e1', '"1"', '1e18', '1e19', 'true', '00', '1.', '-', '0x10', '12345678901234567890.0'])
        content = chance.choice(['application/json', 'application/yaml'])
        if len(number) > 18:
            content = 'application/json'  # upstream writes what YAML has as JSON first, with fewer digits
        return Request('numbers', 'POST', self.collection + '?dryRun=All' + chance.choice(['', '&fieldValidation=Strict']), text.replace('"NUMBER"', number), content)

    def doubled(self):
        chance = self.chance
        method, path = self.target()
        path += '&fieldValidation=' + chance.choice(['Strict', 'Warn', 'Ignore', 'Strict'])
        content = chance.choice([MERGE, STRATEGIC, APPLY]) if method == 'PATCH' else chance.choice(['application/json', 'application/yaml'])
        if content == APPLY:
            path += '&fieldManager=m1'
        text = compact(self.body_for(method))
        for _ in range(chance.choice([1, 2])):
            starts = [at for at, letter in enumerate(text) if letter == '{' and text[at + 1:at + 2] == '"']
            start = chance.choice(starts)
            end = text.find(':', start)
            name = text[start + 1:end]
            text = text[:start + 1] + chance.choice([name + ':null,', name + ':null,' + name + ':null,', '"bogus":1,', '"bogus":{"a":1},"bogus":2,', name.upper() + ':null,', '"":1,']) + text[start + 1:]
        return Request('doubled', method, path, text, content)

    def named(self):
        """Names and namespaces of the URL and of the body that don't agree, and ones that nothing can have."""
        chance = self.chance
        method, path = self.target(('POST', 'PUT', 'PATCH'))
        change = chance.choice([{'metadata': {'name': 'other'}}, {'metadata': {'name': None}}, {'metadata': {'namespace': 'other'}}, {'metadata': {'namespace': ''}}, {'metadata': {'name': None, 'generateName': 'g-'}},
                                {'metadata': None}, {'metadata': {'name': ''}}, {'metadata': {'uid': 'x'}}, {'metadata': {'resourceVersion': '1'}}, {'metadata': {'resourceVersion': 'x'}},
                                {'metadata': {'name': 'Bad_Name', 'generateName': 'g-'}}, {'metadata': {'namespace': 'Bad_Name'}}, {'metadata': {'name': 'a/b'}},
                                {'metadata': {'generateName': 'x' * 70, 'name': None}}, {'metadata': {'deletionTimestamp': '2020-01-01T00:00:00Z'}}, {'metadata': {'selfLink': '/x', 'uid': 'aaaaaaaa-0000-4000-8000-000000000001'}}])
        if method != 'POST' and chance.random() < 0.5:
            path = f"{self.collection}/{chance.choice(['absent', 'Bad_Name', 'a%2Fb', '..', '%20', 'x' * 254, 'a%00b', self.name.upper(), '%e9', 'a;b', 'a%3Fb'])}?dryRun=All"
        content = chance.choice([MERGE, STRATEGIC, APPLY, APPLY]) if method == 'PATCH' else 'application/json'
        if content == APPLY:
            path += '&fieldManager=m1'
        return Request('named', method, path, compact(merged(self.body_for(method), change)), content)

    def parameters(self):
        chance = self.chance
        method, path = self.target(('POST', 'PUT', 'PATCH', 'PATCH', 'DELETE'))
        path = path.split('?')[0]
        query = [('dryRun', chance.choice(['All', 'All', 'All', 'x', '', 'all', 'All,All']))]
        for _ in range(chance.choice([1, 1, 2])):
            name = chance.choice(['fieldManager', 'fieldValidation', 'force', 'pretty', 'dryRun', 'timeout', 'propagationPolicy', 'gracePeriodSeconds', 'orphanDependents', 'resourceVersion', 'bogus', 'timeoutSeconds'])
            query.append((name, chance.choice({
                'fieldManager': ['m1', '', 'a' * 128, 'a' * 129, 'é', 'a\u0001b', ' ', 'a b', 'a/b'], 'fieldValidation': ['Strict', 'strict', 'x', '', 'Warn', 'Ignore'], 'force': ['true', 'false', 'x', '', '1', '0', 'yes'],
                'timeout': ['1s', 'x', '0', '-1s', '10m', '1', '', '1000h'], 'propagationPolicy': ['Orphan', 'x', '', 'foreground'], 'gracePeriodSeconds': ['0', 'x', '-1', '', '1.5'], 'dryRun': ['All', 'x'],
            }.get(name, ['x', '', 'true', '1', '-1']))))
        if method == 'DELETE':
            return Request('parameters', method, path + '?' + urllib.parse.urlencode(query))
        content = self.patch_content() if method == 'PATCH' else 'application/json'
        if content == APPLY and chance.random() < 0.8:
            query.append(('fieldManager', 'm1'))
        body = [{'op': 'test', 'path': '/kind', 'value': self.resource.kind}] if content == JSON_PATCH else self.body_for(method)
        return Request('parameters', method, path + '?' + urllib.parse.urlencode(query), compact(body), content)

    def path_only(self):
        """What the URL alone decides."""
        chance = self.chance
        root = '/api/v1' if not self.resource.group else f'/apis/{self.resource.group_version}'
        plural = self.resource.plural
        path = chance.choice([self.path + '/', self.collection + '/', self.path + '/bogus', self.path + '/status/x', self.path + '/scale', self.path + '/status', f'{root}/bogus', f'{root}/namespaces/{self.namespace}/bogus',
                              f'{root}/namespaces/{self.namespace}/{plural}', f'{root}/{plural}/{self.name}', f'{root}/{plural}', f'{root}x/{plural}', '/apis/bogus.example.com/v1/things', f'/apis/{self.resource.group}',
                              f'{root}/namespaces//{plural}', f'{root}/namespaces/{self.namespace}/{plural}//', f'/{root}/{plural}', f'{root}/watch/{plural}?timeoutSeconds=1', f'{root}/watch/namespaces/{self.namespace}/{plural}/{self.name}?timeoutSeconds=1',
                              f'{root}/{plural.upper()}', f'{root}/namespaces/Bad_Name/{plural}', f'{root}/namespaces/absent/{plural}', f'{root}/proxy/{plural}', self.path + '/log', self.path + '/exec', self.path + '/binding',
                              self.path + '/eviction', self.path + '/token', self.path + '/finalize', self.path + '/approval', self.path + '/resize', self.path + '/ephemeralcontainers', self.path + '/proxy', self.path + '/attach',
                              self.path + '/rollback', self.path + '/portforward', f'{root}/redirect/{plural}', '/apis//v1', '/api/', '/api/v2', '/apis/', f'{root}/', '/bogus'])
        method = chance.choice(['GET', 'GET', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
        if method == 'DELETE':
            path = path.split('?')[0] + '?dryRun=All'
            if path.split('?')[0].rstrip('/') == f'{root}/{plural}':
                method = 'GET'
        body = None if method in ('GET', 'DELETE') else '{}'
        return Request('path', method, path, body, MERGE if method == 'PATCH' else 'application/json')

    def method(self):
        chance = self.chance
        method, path = chance.choice([('POST', self.path), ('PUT', self.collection), ('PATCH', self.collection), ('OPTIONS', self.path), ('OPTIONS', self.collection), ('TRACE', self.path), ('BOGUS', self.path), ('HEAD', self.path),
                                      ('HEAD', self.collection), ('POST', self.path + '/status'), ('DELETE', self.path + '/status'), ('PUT', self.path + '/bogus'), ('GET', self.path + '/binding'), ('DELETE', self.path + '/scale')])
        body = None if method in ('OPTIONS', 'TRACE', 'HEAD', 'BOGUS', 'GET', 'DELETE') else compact(self.object)
        return Request('method', method, path, body, MERGE if method == 'PATCH' else 'application/json')

    def delete_body(self):
        chance = self.chance
        text = chance.choice(['', '{}', 'null', '[]', 'x', '{', compact(self.object), '{"kind":"DeleteOptions","apiVersion":"v1"}', '{"kind":"DeleteOptions","apiVersion":"apps/v1"}', '{"kind":"DeleteOptions"}', '{"apiVersion":"v1"}',
                              '{"kind":"DeleteOptions","apiVersion":"' + self.resource.group_version + '"}', '{"kind":"DeleteOptions","apiVersion":"bogus/v1"}', '{"gracePeriodSeconds":"x"}', '{"bogus":1}', '{"preconditions":{"uid":5}}',
                              '{"dryRun":"All"}', '{"dryRun":["All","All"]}', '{"dryRun":["all"]}', '{"propagationPolicy":"x"}', '{"orphanDependents":"x"}', '{"orphanDependents":true,"propagationPolicy":"Orphan"}',
                              '{"gracePeriodSeconds":-5}', '{"gracePeriodSeconds":1,"gracePeriodSeconds":2}', 'kind: DeleteOptions\napiVersion: v1\ndryRun: [All]\n'])
        if 'All' not in text:
            path = f'{self.collection}/absent' if chance.random() < 0.5 else self.path + '?dryRun=All'
            if text in ('', '{}') or text.startswith('{') and self.shared:
                path = f'{self.collection}/absent'
        else:
            path = self.path
        content = chance.choice(['application/json', 'application/json', 'application/yaml', 'text/plain', 'application/vnd.kubernetes.protobuf', MERGE])
        return Request('delete body', 'DELETE', path, text, content)


def yaml_text(body, way, chance):
    """The object as YAML, written in one of many ways."""
    import yaml
    body = copy.deepcopy(body)
    text = yaml.safe_dump(body, default_flow_style=way == 'flow', allow_unicode=True)
    if way == 'documents':
        return chance.choice(['---\n' + text, text + '---\n', '---\n' + text + '---\n' + text, text + '...\n', '# x\n---\n' + text])
    if way == 'twice':
        lines = text.split('\n')
        at = chance.randrange(len(lines))
        return '\n'.join(lines[:at + 1] + [lines[at]] + lines[at + 1:])
    if way == 'anchor':
        return text.replace('metadata:\n', 'metadata: &m\n', 1) + chance.choice(['status: *m\n', 'extra: *m\n', 'extra: *x\n'])
    if way == 'merge':
        return text + chance.choice(['extra: &e {a: b}\nmore:\n  <<: *e\n', '<<: {extra: 1}\n', '"<<": 1\n'])
    if way == 'comment':
        return '# top\n' + text.replace('\n', ' # why\n', 2)
    if way == 'tag':
        return text.replace('kind: ', chance.choice(['kind: !!str ', 'kind: !x ', 'kind: !!int ', '!!str kind: ']), 1)
    if way == 'tab':
        return text.replace('  ', '\t', 1)
    if way in ('scalars', 'numbers'):
        pool = ['yes', 'no', 'on', 'y', 'true', 'True', '~', 'null', '', "'1'", '|\n    a\n    b', '>-\n    a\n    b', '2001-01-01', '"\\u00e9"', '"\\x41"', 'a: b', '@x', '`x`', '!', '*x', '=', '<<', '.nan', '.inf'] if way == 'scalars' \
            else ['1', '1.0', '0x1F', '0o17', '017', '1_000', '1e3', '+1', '-1', '.5', '1:30', '0b11', '1e400', '9223372036854775808', '-.inf', '1.', '00']
        return merged_annotation(text, chance.choice(pool))
    return text


def merged_annotation(text, scalar):
    """With one more annotation, its value as it is given here."""
    if '  annotations:\n' in text:
        return text.replace('  annotations:\n', f'  annotations:\n    odd: {scalar}\n', 1)
    return text.replace('metadata:\n', f'metadata:\n  annotations:\n    odd: {scalar}\n', 1)
