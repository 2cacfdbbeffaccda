"""Conversations about admission policies: some policies and bindings, valid or nearly so, that are about one namespace alone, and writes in
it. The servers begin to heed a policy some time after it was made: a policy that comes last (the bell) says when."""
import copy
import random
import threading
import types
import urllib.parse

import cases
from cases import APPLY, JSON_PATCH, MERGE, STRATEGIC, Request, compact, merged

ROOT = '/apis/admissionregistration.k8s.io/v1'
VALIDATING, MUTATING = 'ValidatingAdmissionPolicy', 'MutatingAdmissionPolicy'
PLURALS = {VALIDATING: 'validatingadmissionpolicies', MUTATING: 'mutatingadmissionpolicies'}

CONDITIONS = [
    "object.metadata.name.size() < 12", "!object.metadata.name.endsWith('b')", "has(object.metadata.labels) && 'a' in object.metadata.labels", "object.metadata.labels['a'] == 'b'", "object.metadata.?labels['a'].orValue('') == 'b'",
    "oldObject == null || object.metadata.labels == oldObject.metadata.labels", "request.operation == 'CREATE'", "request.operation != 'DELETE'", "request.userInfo.username.startsWith('system:')", "'system:masters' in request.userInfo.groups",
    "request.dryRun == true", "request.name == object.metadata.name", "request.namespace == namespaceObject.metadata.name", "namespaceObject.metadata.labels['run'] == 'x'", "has(namespaceObject.metadata.labels)", "request.kind.kind == 'ConfigMap'",
    "request.resource.resource == 'configmaps'", "request.subResource == ''", "request.requestKind.version == 'v1'", "object.kind == 'Deployment'", "object.apiVersion == 'v1'", "request.options.fieldManager == 'm1'", "object != oldObject",
    "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()", "authorizer.path('/healthz').check('get').reason() == ''", "authorizer.requestResource.check('delete').allowed()",
    "authorizer.serviceAccount('default', 'x').group('').resource('pods').namespace('default').check('get').allowed()", "true", "false", "1 / int(object.metadata.name.size() - object.metadata.name.size()) > 0",
    "object.data.all(k, object.data[k].size() < 4)", "has(object.data) && object.data.exists(k, k == 'a')", "object.data['a'] == 'b'", "object.data['a'].matches('^[a-z]+$')", "int(object.data['n']) < 10", "quantity(object.data['q']).isGreaterThan(quantity('1'))",
    "object.spec.replicas <= 3", "object.spec.replicas >= oldObject.spec.replicas", "object.spec.template.spec.containers.all(c, c.image.contains('example.com'))", "has(object.spec.strategy)", "object.spec.nothing == 1", "object.metadata.finalizers.size() == 0",
    "object.metadata.annotations.size() > 0", "object.metadata.creationTimestamp < timestamp('2040-01-01T00:00:00Z')", "object.metadata.generation == 1", "dyn(object).metadata.name == 'x'", "string(object.metadata.name) == 'a'"]
ODD_CONDITIONS = ['', ' ', 'nothing', '1', "'a'", 'object', 'object.', "object.metadata.name.nothing()", 'params.data.a', "object.metadata.name == 5", 'variables.nothing', 'true ||', 'oldSelf', "request.nothing", "namespaceObject.nothing",
                  "[1,2].all(x, [1,2].all(y, [1,2].all(z, x == y && y == z)))", "authorizer.nothing()", "object.metadata.name.matches('[')", "true\n&& false", "object.all(x, x == x)"]
WITH_PARAMS = ["params.data.max == 'x'", "params == null", "int(params.data.max) > object.metadata.name.size()", "params.metadata.name == 'p1'", "params.metadata.namespace == object.metadata.namespace", "has(params.data)", "'max' in params.data", "object.metadata.name != params.data.name"]
WITH_VARIABLES = ["variables.v", "variables.n > 3", "variables.s == 'x'", "variables.l.size() == 0", "variables.w"]
VARIABLES = [{'name': 'v', 'expression': 'object.metadata.name.size() > 3'}, {'name': 'n', 'expression': 'object.metadata.name.size()'}, {'name': 's', 'expression': "object.metadata.?labels['s'].orValue('none')"},
             {'name': 'l', 'expression': '[]'}, {'name': 'w', 'expression': 'variables.v && variables.n < 20'}]
ODD_VARIABLES = [{'name': 'v', 'expression': 'nothing'}, {'name': '', 'expression': '1'}, {'name': 'a-b', 'expression': '1'}, {'name': 'v', 'expression': ''}, {'name': 'x', 'expression': 'variables.later'}, {'name': 'if', 'expression': '1'}]
MESSAGES = [{}, {}, {'message': 'no good'}, {'messageExpression': "'no ' + object.metadata.name"}, {'message': 'fallback', 'messageExpression': "'no ' + object.metadata.labels['none']"}, {'message': 'm', 'messageExpression': "''"},
            {'messageExpression': "'a\\nb'"}, {'messageExpression': "request.operation + ' ' + request.userInfo.username"}]
ODD_MESSAGES = [{'message': 'a\nb'}, {'messageExpression': '1'}, {'messageExpression': 'nothing'}, {'message': ''}, {'messageExpression': ' '}, {'messageExpression': "'x' * 2"}]
REASONS = [None, None, 'Unauthorized', 'Forbidden', 'Invalid', 'RequestEntityTooLarge']
ANNOTATIONS = [{'key': 'k', 'valueExpression': "'x'"}, {'key': 'name', 'valueExpression': 'object.metadata.name'}, {'key': 'none', 'valueExpression': 'null'}, {'key': 'odd', 'valueExpression': "object.metadata.labels['none']"},
               {'key': 'maybe', 'valueExpression': "object.metadata.name == 'x' ? 'y' : null"}]
ODD_ANNOTATIONS = [{'key': '', 'valueExpression': "'x'"}, {'key': 'Bad Key', 'valueExpression': "'x'"}, {'key': 'k', 'valueExpression': '1'}, {'key': 'k', 'valueExpression': ''}, {'key': 'a/b', 'valueExpression': "'x'"}]
MUTATIONS = [
    "Object{metadata: Object.metadata{labels: {'added': 'yes'}}}", "Object{metadata: Object.metadata{annotations: {'by': request.userInfo.username}}}", "Object{metadata: Object.metadata{labels: object.metadata.labels}}",
    "Object{data: {'a': 'mutated'}}", "Object{data: {'n': string(object.metadata.name.size())}}", "Object{}", "has(object.data) ? Object{data: {'had': 'data'}} : Object{}", "Object{metadata: Object.metadata{finalizers: ['example.com/x']}}",
    "Object{spec: Object.spec{replicas: 3}}", "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers.item{name: 'c', imagePullPolicy: 'Always'}]}}}}",
    "Object{metadata: Object.metadata{name: 'other'}}", "Object{nothing: 1}", "Object{data: {'x': 5}}", "Object{metadata: Object.metadata{labels: {'bad key': 'x'}}}", "Object{spec: Object.spec{nothing: 'x'}}", "Object{apiVersion: 'v2'}",
    "Object{metadata: Object.metadata{labels: {'a': object.metadata.labels['none']}}}", "Object{metadata: Object.metadata{labels: {'len': string(variables.n)}}}"]
PATCHES = [
    "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'x': 'y'}}]", "[JSONPatch{op: 'add', path: '/metadata/labels/x', value: 'y'}]", "[JSONPatch{op: 'replace', path: '/data/a', value: 'new'}]", "[JSONPatch{op: 'remove', path: '/data/a'}]",
    "[JSONPatch{op: 'test', path: '/metadata/name', value: 'x'}]", "[]", "has(object.metadata.labels) ? [JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'y'}] : []", "[JSONPatch{op: 'copy', from: '/metadata/name', path: '/data/name'}]",
    "[JSONPatch{op: 'move', from: '/data/a', path: '/data/b'}]", "[JSONPatch{op: 'add', path: '/spec/replicas', value: 2}]", "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/0/env', value: [Object.spec.template.spec.containers.env{name: 'A', value: 'b'}]}]",
    "[JSONPatch{op: 'add', path: '/nothing', value: 1}]", "[JSONPatch{op: 'add', path: '/data/-', value: 'x'}]", "[JSONPatch{op: 'bogus', path: '/data'}]", "[JSONPatch{op: 'replace', path: '/metadata/name', value: 'other'}]",
    "[JSONPatch{op: 'add', path: '/data', value: Object.data{a: 'b'}}]", "object.data.map(k, JSONPatch{op: 'replace', path: '/data/' + k, value: object.data[k] + '!'})", "[JSONPatch{op: 'add', path: '/data/z', value: dyn(5)}]"]
ODD_MUTATIONS = ['', '1', 'nothing', "{'a': 'b'}", "Object{metadata: {'a': 'b'}}", 'object', "[JSONPatch{op: 'add'}]", "[1]", "JSONPatch{op: 'add', path: '/a'}", "Object{metadata: Object.spec{a: 1}}"]
# What has no namespace is never left out by a selector of namespaces.
RESOURCES = [{'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps']}, {'apiGroups': ['apps'], 'apiVersions': ['v1'], 'resources': ['deployments']}, {'apiGroups': ['', 'apps'], 'apiVersions': ['*'], 'resources': ['configmaps', 'deployments', 'deployments/scale']},
             {'apiGroups': ['*'], 'apiVersions': ['*'], 'resources': ['*'], 'scope': 'Namespaced'}, {'apiGroups': ['*'], 'apiVersions': ['*'], 'resources': ['*/*'], 'scope': 'Namespaced'}, {'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps'], 'scope': 'Namespaced'},
             {'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps'], 'resourceNames': ['thing-a']}, {'apiGroups': ['apps'], 'apiVersions': ['v1beta1'], 'resources': ['deployments']}]
ODD_RESOURCES = [{'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps', 'configmaps/*']}, {'apiGroups': [], 'apiVersions': ['v1'], 'resources': ['configmaps']}, {'apiGroups': ['', '*'], 'apiVersions': ['v1'], 'resources': ['x']}, {'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['configmaps'], 'scope': 'Bogus'},
                 {'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['*', 'pods']}, {'apiGroups': [''], 'apiVersions': [''], 'resources': ['pods']}]
OPERATIONS = [['CREATE'], ['UPDATE'], ['CREATE', 'UPDATE'], ['*'], ['DELETE'], ['CREATE', 'UPDATE', 'DELETE', 'CONNECT']]
ACTIONS = [['Deny'], ['Deny'], ['Warn'], ['Audit'], ['Deny', 'Audit'], ['Warn', 'Audit']]
ODD_ACTIONS = [[], ['Deny', 'Warn'], ['Bogus'], ['Deny', 'Deny']]
PARAM_REFS = [{'name': 'p1', 'parameterNotFoundAction': 'Deny'}, {'name': 'p2', 'parameterNotFoundAction': 'Allow'}, {'name': 'none', 'parameterNotFoundAction': 'Deny'}, {'name': 'none', 'parameterNotFoundAction': 'Allow'},
              {'selector': {'matchLabels': {'p': 'yes'}}, 'parameterNotFoundAction': 'Deny'}, {'selector': {'matchLabels': {'p': 'no'}}, 'parameterNotFoundAction': 'Deny'}, {'selector': {}, 'parameterNotFoundAction': 'Allow'}]
ODD_PARAM_REFS = [{}, {'name': 'p1'}, {'name': 'p1', 'selector': {}, 'parameterNotFoundAction': 'Deny'}, {'name': 'Bad_Name', 'parameterNotFoundAction': 'Deny'}, {'name': 'p1', 'parameterNotFoundAction': 'Bogus'}]
NAMES = ['thing-a', 'thing-b', 'thing-long-name-b']
CONFIG_MAPS = [{'data': {'a': 'b'}}, {'data': {'a': 'long value', 'n': '12'}}, {'data': {'n': '3', 'q': '2'}}, {}, {'metadata': {'labels': {'a': 'b'}}, 'data': {'a': 'B'}}, {'metadata': {'labels': {'a': 'c', 's': 'x'}, 'annotations': {'x': 'y'}}}, {'data': {'q': 'x', 'n': 'x'}},
               {'metadata': {'finalizers': ['example.com/y'], 'labels': {'a': 'b'}}, 'data': {'a': 'b'}}]
TEMPLATE = {'metadata': {'labels': {'app': 'x'}}, 'spec': {'containers': [{'name': 'c', 'image': 'example.com/c'}]}}
DEPLOYMENTS = [{'spec': {'replicas': 2, 'selector': {'matchLabels': {'app': 'x'}}, 'template': TEMPLATE}}, {'metadata': {'labels': {'a': 'b'}}, 'spec': {'replicas': 5, 'selector': {'matchLabels': {'app': 'x'}}, 'template': merged(TEMPLATE, {'spec': {'containers': [{'name': 'c', 'image': 'other'}]}})}},
               {'spec': {'replicas': 0, 'strategy': {'type': 'Recreate'}, 'selector': {'matchLabels': {'app': 'x'}}, 'template': TEMPLATE}}]


class Policies(cases.Case):
    goes_on = True

    def __init__(self, seed, number, resources, namespace):
        self.chance = random.Random(f'{seed}/{number}/policies')
        self.number, self.namespace = number, namespace
        self.resource = types.SimpleNamespace(kind='AdmissionPolicy', title='admissionregistration.k8s.io/v1 AdmissionPolicy')
        self.shared = False
        self.space = f'{namespace}-p{number}'
        self.name = f'{namespace}-{number}'
        self.maps, self.deployments = f'/api/v1/namespaces/{self.space}/configmaps', f'/apis/apps/v1/namespaces/{self.space}/deployments'
        self.path = f'{self.maps}/thing-a'
        self.made = []

    def odd(self, share):
        return self.chance.random() < share

    def prepare(self):
        # A policy that is always there, so that both servers watch what the others take for parameters.
        keeper = {'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': VALIDATING, 'metadata': {'name': f'{self.namespace}-keeper'},
                  'spec': {'paramKind': {'apiVersion': 'v1', 'kind': 'ConfigMap'}, 'matchConstraints': {'resourceRules': [{'operations': ['CREATE'], 'apiGroups': ['nothing.example'], 'apiVersions': ['v1'], 'resources': ['things']}]},
                           'validations': [{'expression': 'true'}]}}
        requests = [Request('', 'POST', f'{ROOT}/{PLURALS[VALIDATING]}', compact(keeper)), Request('', 'POST', f'{ROOT}/{PLURALS[VALIDATING][:-3]}ybindings', compact(self.binding_of(keeper['metadata']['name'], VALIDATING, {})))]
        space = {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': self.space, 'labels': {'run': self.chance.choice(['x', 'y'])}}}
        requests.append(Request('', 'POST', '/api/v1/namespaces', compact(space)))
        for name, data in (('p1', {'max': 'x', 'name': 'thing-b'}), ('p2', {'max': '7'})):
            requests.append(Request('', 'POST', self.maps, compact({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name, 'labels': {'p': 'yes'}}, 'data': data})))
        return requests

    @staticmethod
    def binding_of(name, kind, spec):
        more = {'validationActions': ['Deny']} if kind == VALIDATING and 'validationActions' not in spec else {}
        return {'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': kind + 'Binding', 'metadata': {'name': name}, 'spec': {'policyName': name, **more, **spec}}

    def requests(self):
        chance = self.chance
        for collection, version, kind, bodies in ((self.maps, 'v1', 'ConfigMap', CONFIG_MAPS), (self.deployments, 'apps/v1', 'Deployment', DEPLOYMENTS)):
            yield Request('create before', 'POST', collection, compact(merged(chance.choice(bodies), {'apiVersion': version, 'kind': kind, 'metadata': {'name': 'thing-a'}})))
        oddness = chance.choice([0.0, 0.0, 0.0, 0.25])
        for index in range(chance.choice([1, 2, 3])):
            yield from self.policy(f'{self.name}-{index}', chance.choice([VALIDATING, VALIDATING, MUTATING]), oddness)
        yield from self.bell()
        steps = [self.create, self.create, self.create, self.change, self.change, self.replace, self.remove, self.scale]
        for _ in range(chance.randint(12, 20)):
            yield chance.choice(steps)()

    def policy(self, name, kind, oddness):
        chance = self.chance
        spec = self.spec(kind, oddness)
        body = {'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': kind, 'metadata': {'name': name}, 'spec': spec}
        yield self.make(f'create {kind}', f'{ROOT}/{PLURALS[kind]}', body)
        binding = {}
        if kind == VALIDATING:
            binding['validationActions'] = chance.choice(ODD_ACTIONS if self.odd(oddness * 0.5) else ACTIONS)
        if 'paramKind' in spec and chance.random() < 0.9 or self.odd(oddness * 0.3):
            binding['paramRef'] = copy.deepcopy(chance.choice(ODD_PARAM_REFS if self.odd(oddness * 0.5) else PARAM_REFS))
            if chance.random() < 0.2:
                binding['paramRef']['namespace'] = chance.choice([self.space, 'default'])
        if chance.random() < 0.2:
            binding['matchResources'] = chance.choice([{'objectSelector': {'matchLabels': {'a': 'b'}}}, {'resourceRules': [{'operations': ['CREATE'], **RESOURCES[0]}]}, {'namespaceSelector': {'matchLabels': {'run': 'x'}}},
                                                       {'excludeResourceRules': [{'operations': ['*'], **RESOURCES[1]}]}, {'matchPolicy': 'Exact'}])
        yield self.make(f'create {kind}Binding', f'{ROOT}/{PLURALS[kind][:-3]}ybindings', self.binding_of(name, kind, binding))

    def make(self, operation, collection, body):
        self.made.append(f"{collection}/{body['metadata']['name']}")
        return Request(operation, 'POST', collection, compact(body))

    def spec(self, kind, oddness):
        chance = self.chance
        rules = [{'operations': chance.choice(OPERATIONS), **chance.choice(ODD_RESOURCES if self.odd(oddness * 0.4) else RESOURCES)} for _ in range(chance.choice([1, 1, 2]))]
        if kind == MUTATING:
            rules = [{**rule, 'operations': [one for one in rule['operations'] if one in ('CREATE', 'UPDATE')] or ['CREATE', 'UPDATE']} for rule in rules]
        match = {'resourceRules': rules, 'namespaceSelector': {'matchLabels': {'kubernetes.io/metadata.name': self.space}}}
        if chance.random() < 0.15:
            match['excludeResourceRules'] = [{'operations': ['*'], **chance.choice(RESOURCES)}]
        if chance.random() < 0.15:
            match['objectSelector'] = chance.choice([{'matchLabels': {'a': 'b'}}, {'matchExpressions': [{'key': 'a', 'operator': 'DoesNotExist'}]}])
        if chance.random() < 0.2:
            match['matchPolicy'] = chance.choice(['Exact', 'Equivalent'])
        spec = {'matchConstraints': match}
        if chance.random() < 0.7:
            spec['failurePolicy'] = chance.choice(['Fail', 'Fail', 'Ignore'])
        pool = list(CONDITIONS)
        if chance.random() < 0.35:
            spec['paramKind'] = {'apiVersion': 'v1', 'kind': 'ConfigMap'}
            pool += WITH_PARAMS * 4
        if chance.random() < 0.4 or kind == MUTATING:
            spec['variables'] = copy.deepcopy(VARIABLES)
            if self.odd(oddness * 0.5):
                spec['variables'].append(chance.choice(ODD_VARIABLES))
            pool += WITH_VARIABLES * 3
        if chance.random() < 0.3:
            spec['matchConditions'] = [{'name': f'c{index}', 'expression': chance.choice(ODD_CONDITIONS if self.odd(oddness) else CONDITIONS)} for index in range(chance.choice([1, 2]))]
        if kind == VALIDATING:
            spec['validations'] = [self.validation(pool, oddness) for _ in range(chance.choice([1, 2, 3]))]
            if chance.random() < 0.3:
                spec['auditAnnotations'] = [copy.deepcopy(chance.choice(ODD_ANNOTATIONS if self.odd(oddness) else ANNOTATIONS)) for _ in range(chance.choice([1, 2]))]
            if self.odd(oddness * 0.2):
                del spec['validations']
        else:
            spec['reinvocationPolicy'] = chance.choice(['Never', 'IfNeeded'])
            spec['mutations'] = [self.mutation(oddness) for _ in range(chance.choice([1, 1, 2]))]
        return spec

    def validation(self, pool, oddness):
        chance = self.chance
        made = {'expression': chance.choice(ODD_CONDITIONS if self.odd(oddness) else pool), **copy.deepcopy(chance.choice(ODD_MESSAGES if self.odd(oddness) else MESSAGES))}
        reason = 'Bogus' if self.odd(oddness * 0.3) else chance.choice(REASONS)
        if reason:
            made['reason'] = reason
        return made

    def mutation(self, oddness):
        chance = self.chance
        odd = self.odd(oddness)
        if chance.random() < 0.5:
            return {'patchType': 'ApplyConfiguration', 'applyConfiguration': {'expression': chance.choice(ODD_MUTATIONS if odd else MUTATIONS)}}
        return {'patchType': 'JSONPatch', 'jsonPatch': {'expression': chance.choice(ODD_MUTATIONS if odd else PATCHES)}}

    def bell(self):
        """Refuses and marks a kind that nothing else here is about; both are heeded after all that were made before."""
        match = {'resourceRules': [{'operations': ['CREATE'], 'apiGroups': [''], 'apiVersions': ['v1'], 'resources': ['limitranges']}], 'namespaceSelector': {'matchLabels': {'kubernetes.io/metadata.name': self.space}}}
        name, probe = f'{self.name}-bell', {'apiVersion': 'v1', 'kind': 'LimitRange', 'metadata': {'name': 'probe'}}
        marked = {'matchConstraints': match, 'validations': [{'expression': "'rung' in object.metadata.?labels.orValue({})", 'message': 'not marked'}, {'expression': 'false', 'message': 'bell'}]}
        mark = {'patchType': 'ApplyConfiguration', 'applyConfiguration': {'expression': "Object{metadata: Object.metadata{labels: {'rung': 'yes'}}}"}}
        specs = {VALIDATING: marked, MUTATING: {'matchConstraints': match, 'reinvocationPolicy': 'Never', 'mutations': [mark]}}
        for kind in (MUTATING, VALIDATING):
            body = {'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': kind, 'metadata': {'name': name}, 'spec': specs[kind]}
            for request in (self.make('bell', f'{ROOT}/{PLURALS[kind]}', body), self.make('bell', f'{ROOT}/{PLURALS[kind][:-3]}ybindings', self.binding_of(name, kind, {}))):
                yield request
        wait = Request('', 'POST', f'/api/v1/namespaces/{self.space}/limitranges?dryRun=All', compact(probe))
        # A policy of the case's own may refuse it before: then there is nothing to hear.
        refused = {}

        def heard(code, text):
            if code == 422 and 'bell' in text and 'not marked' not in text:
                return True
            server = threading.get_ident()
            refused[server] = refused.get(server, 0) + 1
            return refused[server] > 40
        wait.until = heard
        yield wait

    def cleanup(self):
        gone = [Request('', 'DELETE', path) for path in reversed(self.made)]
        for path in [f'{collection}/{name}' for collection in (self.maps, self.deployments) for name in NAMES]:
            gone += [Request('', 'PATCH', path, '{"metadata":{"finalizers":null}}', MERGE), Request('', 'DELETE', path)]
        return gone

    def collection_of(self):
        """(collection, kind, bodies)"""
        return self.chance.choice([(self.maps, 'v1', 'ConfigMap', CONFIG_MAPS)] * 3 + [(self.deployments, 'apps/v1', 'Deployment', DEPLOYMENTS)])

    def query(self, path):
        chance, query = self.chance, {}
        if chance.random() < 0.3:
            query['dryRun'] = 'All'
        if chance.random() < 0.2:
            query['fieldManager'] = 'm1'
        if chance.random() < 0.2:
            query['fieldValidation'] = 'Strict'
        return path + ('?' + urllib.parse.urlencode(query) if query else '')

    def thing(self):
        return self.chance.choice(NAMES[:2] + NAMES)

    def create(self):
        collection, version, kind, bodies = self.collection_of()
        body = merged(self.chance.choice(bodies), {'apiVersion': version, 'kind': kind, 'metadata': {'name': self.thing()}})
        return Request('create', 'POST', self.query(collection), compact(body))

    def change(self):
        chance = self.chance
        collection, version, kind, bodies = self.collection_of()
        path = f'{collection}/{self.thing()}'
        if chance.random() < 0.35:
            body = merged(chance.choice(bodies), {'apiVersion': version, 'kind': kind, 'metadata': {'name': path.rsplit('/', 1)[1]}})
            return Request('apply', 'PATCH', path + '?fieldManager=m2&force=true' + chance.choice(['', '&dryRun=All']), compact(body), APPLY)
        body = chance.choice([{'metadata': {'labels': {'a': chance.choice(['b', 'c', None])}}}, {'data': {'a': chance.choice(['b', 'zzzzz', None])}}, {'spec': {'replicas': chance.choice([1, 3, 9])}}, {'metadata': {'annotations': {'x': 'z'}}}, {'metadata': {'finalizers': None}}])
        return Request('patch', 'PATCH', self.query(path), compact(body), chance.choice([MERGE, STRATEGIC]))

    def replace(self):
        collection, version, kind, bodies = self.collection_of()
        name = self.thing()
        body = merged(self.chance.choice(bodies), {'apiVersion': version, 'kind': kind, 'metadata': {'name': name}})
        return Request('put', 'PUT', self.query(f'{collection}/{name}'), compact(body))

    def scale(self):
        return Request('scale', 'PATCH', f'{self.deployments}/{self.thing()}/scale', compact({'spec': {'replicas': self.chance.choice([0, 2, 4, 7])}}), MERGE)

    def remove(self):
        chance = self.chance
        collection = self.collection_of()[0]
        if chance.random() < 0.2:
            return Request('delete many', 'DELETE', collection + '?labelSelector=a' + chance.choice(['', '&dryRun=All']))
        return Request('delete', 'DELETE', f'{collection}/{self.thing()}' + chance.choice(['', '?dryRun=All']))
