"""Subresources and reviews: what is asked of an object beside reading and writing it, with bodies that are valid, nearly valid and not at all."""
import copy
import json
import pathlib
import random
import types
import urllib.parse

import cases
from cases import APPLY, JSON_PATCH, MERGE, STRATEGIC, TABLE, Request, compact, merged

SEEDS = pathlib.Path(__file__).resolve().parent / 'seeds'
USERS = ['system:admin', 'ann', 'system:serviceaccount:default:x', '', 'system:node:n1']
ATTRIBUTES = [{'verb': 'get', 'resource': 'pods'}, {'namespace': 'default', 'verb': 'list', 'group': 'apps', 'resource': 'deployments', 'name': 'x'}, {'verb': '*', 'resource': '*', 'group': '*'}, {},
              {'verb': 'get', 'resource': 'pods', 'subresource': 'log', 'version': 'v1'},
              {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'rawSelector': 'spec.nodeName=n1'}}, {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'requirements': [{'key': 'spec.nodeName', 'operator': 'In', 'values': ['n1']}]}},
              {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'rawSelector': 'a=b', 'requirements': [{'key': 'a', 'operator': 'In', 'values': ['b']}]}}, {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'rawSelector': 'a in'}},
              {'verb': 'list', 'resource': 'pods', 'fieldSelector': {}}, {'verb': 'list', 'resource': 'pods', 'labelSelector': {'rawSelector': 'a in (b,c)'}}, {'verb': 'list', 'resource': 'pods', 'labelSelector': {'rawSelector': 'bad key'}},
              {'verb': 'list', 'resource': 'pods', 'labelSelector': {'requirements': [{'key': 'a', 'operator': 'In'}]}}, {'verb': 'list', 'resource': 'pods', 'labelSelector': {'requirements': [{'key': 'a', 'operator': 'Bogus', 'values': ['x']}]}},
              {'verb': 'get', 'resource': 'pods', 'labelSelector': {'rawSelector': 'a=b'}}, {'verb': 'list', 'resource': 'pods', 'labelSelector': {'requirements': [{'key': '', 'operator': 'Exists'}]}},
              {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'requirements': [{'key': 'a', 'operator': 'NotIn', 'values': ['x', 'y']}]}}, {'verb': 'list', 'resource': 'pods', 'fieldSelector': {'requirements': []}}]
PATHS = [{'path': '/healthz', 'verb': 'get'}, {'path': '', 'verb': ''}, {'path': '/x', 'verb': 'post'}, {}]
SPECS = {
    'selfsubjectaccessreviews': ['resource', 'path'], 'subjectaccessreviews': ['resource', 'path', 'user'], 'localsubjectaccessreviews': ['resource', 'path', 'user'], 'selfsubjectrulesreviews': ['namespace'],
    'tokenreviews': ['token'], 'selfsubjectreviews': [],
}
KINDS = {'selfsubjectaccessreviews': 'SelfSubjectAccessReview', 'subjectaccessreviews': 'SubjectAccessReview', 'localsubjectaccessreviews': 'LocalSubjectAccessReview', 'selfsubjectrulesreviews': 'SelfSubjectRulesReview',
         'tokenreviews': 'TokenReview', 'selfsubjectreviews': 'SelfSubjectReview'}
PODS = [
    {'spec': {'containers': [{'name': 'c', 'image': 'example.com/c'}]}},
    {'spec': {'containers': [{'name': 'c', 'image': 'example.com/c', 'resources': {'requests': {'cpu': '100m', 'memory': '64Mi'}, 'limits': {'cpu': '200m', 'memory': '64Mi'}}, 'resizePolicy': [{'resourceName': 'memory', 'restartPolicy': 'RestartContainer'}]}]}},
    {'spec': {'nodeName': 'n1', 'containers': [{'name': 'c', 'image': 'example.com/c', 'resources': {'requests': {'cpu': '1'}, 'limits': {'cpu': '1', 'memory': '1Gi'}}}, {'name': 'd', 'image': 'example.com/d'}]}},
    {'spec': {'schedulingGates': [{'name': 'example.com/g'}], 'initContainers': [{'name': 'i', 'image': 'example.com/i', 'restartPolicy': 'Always'}], 'containers': [{'name': 'c', 'image': 'example.com/c'}], 'terminationGracePeriodSeconds': 0}},
]
STATUSES = [
    {'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True'}]}, {'phase': 'Bogus'}, {'phase': 'Pending', 'conditions': [{'type': 'PodScheduled', 'status': 'Maybe', 'lastTransitionTime': 'x'}]}, {'podIP': '10.0.0.1', 'podIPs': [{'ip': '10.0.0.1'}]},
    {'podIPs': [{'ip': '10.0.0.1'}, {'ip': '10.0.0.2'}]}, {'podIPs': [{'ip': 'x'}]}, {'podIP': '10.0.0.1', 'podIPs': [{'ip': '10.0.0.2'}]}, {'hostIP': '10.0.0.3'}, {'hostIPs': [{'ip': '010.0.0.1'}], 'hostIP': '010.0.0.1'}, {'qosClass': 'Guaranteed'}, {'qosClass': 'Bogus'},
    {'containerStatuses': [{'name': 'c', 'ready': True, 'restartCount': 0, 'image': 'x', 'imageID': '', 'state': {'running': {'startedAt': '2031-01-01T00:00:00Z'}}}]}, {'containerStatuses': [{'name': 'c', 'state': {'terminated': {'exitCode': 1}}}]},
    {'containerStatuses': [{'name': 'nothing', 'restartCount': -1, 'state': {'waiting': {}, 'running': {}}}]}, {'containerStatuses': [{'name': 'c', 'allocatedResources': {'cpu': 'x'}}]}, {'observedGeneration': -1}, {'nominatedNodeName': 'Bad_Name'}, {'nominatedNodeName': 'n1'},
    {'resize': 'Proposed'}, {'resize': 'Bogus'}, {'resourceClaimStatuses': [{'name': 'x', 'resourceClaimName': 'y'}]}, {'conditions': [{'type': '', 'status': 'True'}]}, {'conditions': [{'type': 'a', 'status': 'True', 'observedGeneration': -1}]}, {'startTime': 'x'}, {'message': 'm', 'reason': 'r'},
    {'ephemeralContainerStatuses': [{'name': 'x', 'state': {'terminated': {'exitCode': 0}}}]}, {'initContainerStatuses': [{'name': 'i', 'state': {'terminated': {'exitCode': 1}}}]}, {'hostIPs': [{'ip': '10.0.0.1'}]}, {'bogus': 1}, None, 'x']
EPHEMERAL = [
    {'name': 'e', 'image': 'example.com/e'}, {'name': 'e', 'image': 'example.com/e', 'targetContainerName': 'c'}, {'name': 'e', 'image': 'example.com/e', 'targetContainerName': 'nothing'}, {'name': 'c', 'image': 'x'}, {'name': '', 'image': 'x'}, {'name': 'e'},
    {'name': 'e', 'image': 'x', 'ports': [{'containerPort': 80}]}, {'name': 'e', 'image': 'x', 'resources': {'requests': {'cpu': '1'}}}, {'name': 'e', 'image': 'x', 'livenessProbe': {'exec': {'command': ['x']}}}, {'name': 'e', 'image': 'x', 'lifecycle': {'preStop': {'sleep': {'seconds': 1}}}},
    {'name': 'Bad_Name', 'image': ' x'}, {'name': 'e', 'image': 'x', 'volumeMounts': [{'name': 'v', 'mountPath': '/x', 'subPath': 'y'}]}, {'name': 'e', 'image': 'x', 'securityContext': {'privileged': True}}, {'name': 'e', 'image': 'x', 'stdin': True, 'tty': True, 'terminationMessagePolicy': 'Bogus'},
    {'name': 'e', 'image': 'x', 'resizePolicy': [{'resourceName': 'cpu', 'restartPolicy': 'NotRequired'}]}, {'name': 'e', 'image': 'x', 'restartPolicy': 'Always'}, {'name': 'e', 'image': 'x', 'env': [{'name': '1', 'value': 'x', 'valueFrom': {'fieldRef': {'fieldPath': 'x'}}}]}]
RESOURCES = [{'requests': {'cpu': '150m'}}, {'limits': {'cpu': '300m'}}, {'requests': {'memory': '32Mi'}}, {'limits': {'memory': '32Mi'}, 'requests': {'memory': '32Mi'}}, {'requests': {'cpu': '2'}}, {'requests': {'ephemeral-storage': '1Gi'}}, {}, {'requests': None}, {'limits': None, 'requests': None},
             {'requests': {'cpu': '-1'}}, {'requests': {'cpu': 'x'}}, {'claims': [{'name': 'x'}]}, {'requests': {'cpu': '0'}}, {'limits': {'hugepages-2Mi': '2Mi'}}, {'requests': {'example.com/x': 1}}]
TOKENS = [{}, {'spec': {'audiences': ['a']}}, {'spec': {'expirationSeconds': 600}}, {'spec': {'expirationSeconds': 5}}, {'spec': {'expirationSeconds': 1 << 33}}, {'spec': {'expirationSeconds': -1}}, {'spec': {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v1', 'name': 'absent'}}},
          {'spec': {'boundObjectRef': {'kind': 'Bogus', 'apiVersion': 'v1', 'name': 'x'}}}, {'spec': {'boundObjectRef': {'kind': 'Secret', 'apiVersion': 'v1', 'name': ''}}}, {'spec': {'boundObjectRef': {'kind': 'Node', 'apiVersion': 'v1', 'name': 'absent'}}}, {'spec': {'boundObjectRef': {'kind': 'Pod', 'apiVersion': 'v2', 'name': 'x'}}},
          {'metadata': {'name': 'other'}}, {'metadata': {'namespace': 'other'}}, {'metadata': {'uid': 'x'}}, {'spec': {'audiences': ['']}}, {'spec': {'audiences': []}}, {'kind': 'Bogus'}, {'spec': 'x'}, {'bogus': 1}, {'spec': {'boundObjectRef': {}}}, {'spec': None}]
BINDINGS = [{'target': {'kind': 'Node', 'name': 'n1'}}, {'target': {'name': 'n1'}}, {'target': {'kind': 'Bogus', 'name': 'n1'}}, {'target': {'kind': 'Node', 'name': ''}}, {}, {'target': {'kind': 'Node', 'name': 'Bad_Name'}}, {'target': {'kind': 'Node', 'name': 'n1', 'apiVersion': 'v2'}},
            {'metadata': {'name': 'other'}, 'target': {'name': 'n1'}}, {'metadata': {'uid': 'x'}, 'target': {'name': 'n1'}}, {'metadata': {'resourceVersion': '1'}, 'target': {'name': 'n1'}}, {'metadata': {'annotations': {'a': 'b'}, 'labels': {'x': 'y'}}, 'target': {'name': 'n1'}}, {'target': {'kind': 'Minion', 'name': 'n1'}},
            {'target': 'x'}, {'metadata': {'namespace': 'other'}, 'target': {'name': 'n1'}}, {'bogus': 1, 'target': {'name': 'n1'}}]
EVICTIONS = [{}, {'deleteOptions': {'gracePeriodSeconds': 0}}, {'deleteOptions': {'dryRun': ['All']}}, {'deleteOptions': {'dryRun': ['x']}}, {'deleteOptions': {'preconditions': {'uid': 'x'}}}, {'deleteOptions': {'preconditions': {'resourceVersion': '1'}}}, {'deleteOptions': {'gracePeriodSeconds': -1}},
             {'deleteOptions': {'propagationPolicy': 'Bogus'}}, {'metadata': {'name': 'other'}}, {'metadata': {'namespace': 'other'}}, {'apiVersion': 'policy/v1beta1'}, {'apiVersion': 'policy/v2'}, {'kind': 'Bogus'}, {'deleteOptions': {'orphanDependents': True}}, {'bogus': 1}, {'deleteOptions': 'x'}, {'metadata': {'name': None}}]
CONDITIONS = [{'type': 'Approved', 'status': 'True', 'reason': 'r', 'message': 'm'}, {'type': 'Denied', 'status': 'True'}, {'type': 'Failed', 'status': 'True'}, {'type': 'Approved', 'status': 'False'}, {'type': 'Bogus', 'status': 'True'}, {'type': '', 'status': 'True'}, {'type': 'Approved', 'status': ''},
              {'type': 'Approved', 'status': 'Unknown'}, {'type': 'Approved', 'status': 'True', 'lastUpdateTime': '2031-01-01T00:00:00Z', 'lastTransitionTime': '2031-01-01T00:00:00Z'}, {'type': 'Approved'}]


class Calls(cases.Case):
    goes_on = True

    def __init__(self, seed, number, resources, namespace):
        self.chance = random.Random(f'{seed}/{number}/calls')
        self.number, self.namespace, self.shared = number, namespace, False
        self.sort = self.chance.choice(['review', 'review', 'pod', 'pod', 'pod', 'pod', 'token', 'request', 'namespace', 'scale'])
        self.resource = types.SimpleNamespace(kind=self.sort, title=f'call {self.sort}')
        self.name = f'{namespace}-{number}'
        self.path, self.collection = f'/api/v1/namespaces/{namespace}/pods/{self.name}', f'/api/v1/namespaces/{namespace}/pods'
        self.gone = []

    def requests(self):
        yield from getattr(self, f'of_{self.sort}')()

    def cleanup(self):
        gone = compact({'gracePeriodSeconds': 0, 'propagationPolicy': 'Background'})
        requests = []
        for path in self.gone:
            requests += [Request('', 'PATCH', path, '{"metadata":{"finalizers":null}}', MERGE), Request('', 'DELETE', path, gone)]
        return requests

    def made(self, collection, body):
        name = body['metadata']['name']
        self.gone.append(f'{collection}/{name}')
        return Request('create seed', 'POST', collection, compact(body))

    def query(self, path, dry=0.3, manager=0.3):
        chance, query = self.chance, {}
        if chance.random() < dry:
            query['dryRun'] = chance.choice(['All', 'All', 'All', 'x'])
        if chance.random() < 0.4:
            query['fieldValidation'] = chance.choice(['Strict', 'Warn', 'Ignore', 'Strict', 'x'])
        if chance.random() < manager:
            query['fieldManager'] = chance.choice(['m1', 'm2'])
        if chance.random() < 0.05:
            query['pretty'] = 'true'
        return path + ('?' + urllib.parse.urlencode(query) if query else '')

    def write(self, operation, path, head, change):
        """One of the ways to change a part."""
        chance = self.chance
        way = chance.choice(['merge', 'merge', 'strategic', 'put', 'apply', 'json', 'get'])
        if way == 'get':
            return Request(f'get {operation}', 'GET', path, accept=chance.choice([None, TABLE, 'application/yaml']))
        if way in ('merge', 'strategic'):
            return Request(f'{way} patch {operation}', 'PATCH', self.query(path), compact(change), MERGE if way == 'merge' else STRATEGIC)
        if way == 'json':
            name, value = chance.choice(list(change.items())) if change else ('x', 1)
            return Request(f'json patch {operation}', 'PATCH', self.query(path), compact([{'op': chance.choice(['add', 'replace', 'test']), 'path': f'/{name}', 'value': value}]), JSON_PATCH)
        if way == 'apply':
            path = self.query(path, manager=0)
            return Request(f'apply {operation}', 'PATCH', path + ('&' if '?' in path else '?') + 'fieldManager=m1&force=true', compact(merged(head, change)), APPLY)
        return Request(f'put {operation}', 'PUT', self.query(path), lambda live: compact(merged(merged(head, live if isinstance(live, dict) else {}), change)))

    def of_review(self):
        chance = self.chance
        for _ in range(5):
            plural = chance.choice(list(SPECS))
            group = 'authentication.k8s.io' if plural in ('tokenreviews', 'selfsubjectreviews') else 'authorization.k8s.io'
            path = f'/apis/{group}/v1/' + (f'namespaces/{self.namespace}/' if plural.startswith('local') else '') + plural
            body = {'apiVersion': f'{group}/v1', 'kind': KINDS[plural]}
            spec = {}
            for part in SPECS[plural]:
                if part == 'resource' and chance.random() < 0.8:
                    spec['resourceAttributes'] = copy.deepcopy(chance.choice(ATTRIBUTES))
                    if plural.startswith('local') and chance.random() < 0.7:
                        spec['resourceAttributes']['namespace'] = self.namespace
                elif part == 'path' and chance.random() < 0.25:
                    spec['nonResourceAttributes'] = chance.choice(PATHS)
                elif part == 'user':
                    if chance.random() < 0.9:
                        spec['user'] = chance.choice(USERS)
                    if chance.random() < 0.3:
                        spec['groups'] = chance.choice([['system:masters'], ['a'], [], ['']])
                    if chance.random() < 0.15:
                        spec['extra'] = chance.choice([{'a': ['b']}, {'A': ['b']}, {'': []}, {'a': None}])
                    if chance.random() < 0.1:
                        spec['uid'] = 'x'
                elif part == 'namespace':
                    spec['namespace'] = chance.choice(['', self.namespace, 'absent', 'default'])
                elif part == 'token':
                    spec['token'] = chance.choice(['', 'x', 'a.b.c', 'eyJhbGciOiJub25lIn0.e30.'])
                    if chance.random() < 0.3:
                        spec['audiences'] = chance.choice([['a'], ['https://kubernetes.default.svc'], [], ['']])
            if spec or SPECS[plural]:
                body['spec'] = spec
            if chance.random() < 0.15:
                body = merged(body, chance.choice([{'metadata': {'name': 'x'}}, {'metadata': {'namespace': 'other'}}, {'status': {'allowed': True}}, {'kind': 'Bogus'}, {'spec': None}, {'spec': 'x'}, {'bogus': 1}, {'metadata': {'labels': {'a': 'b'}}}, {'apiVersion': None}, {'metadata': {'generateName': 'g-'}},
                                                   {'spec': {'bogus': 1}}, {'metadata': {'finalizers': ['x']}}, {'apiVersion': group + '/v2'}]))
            yield Request('review', 'POST', self.query(path), compact(body), chance.choice(['application/json'] * 8 + ['application/yaml', 'text/plain']), accept=chance.choice([None] * 6 + ['application/yaml', TABLE, 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io']))

    def of_pod(self):
        chance = self.chance
        body = merged({'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': self.name}}, copy.deepcopy(chance.choice(PODS)))
        yield self.made(self.collection, body)
        for _ in range(chance.randint(5, 9)):
            yield chance.choice([self.pod_status, self.pod_status, self.ephemeral, self.ephemeral, self.resize, self.resize, self.binding, self.eviction, self.streams])()
        yield Request('get', 'GET', self.path)

    head = {'apiVersion': 'v1', 'kind': 'Pod'}

    def pod_head(self):
        return merged(self.head, {'metadata': {'name': self.name}})

    def pod_status(self):
        return self.write('status', self.path + '/status', self.pod_head(), {'status': copy.deepcopy(self.chance.choice(STATUSES))})

    def ephemeral(self):
        containers = copy.deepcopy(self.chance.sample(EPHEMERAL, self.chance.choice([1, 1, 1, 2])))
        change = {'spec': {'ephemeralContainers': containers}}
        if self.chance.random() < 0.15:
            change = merged(change, self.chance.choice([{'metadata': {'labels': {'a': 'b'}}}, {'spec': {'nodeName': 'x'}}, {'spec': {'containers': []}}, {'status': {'phase': 'Running'}}]))
        return self.write('ephemeralcontainers', self.path + '/ephemeralcontainers', self.pod_head(), change)

    def resize(self):
        chance = self.chance
        change = {'spec': {'containers': [{'name': chance.choice(['c', 'c', 'c', 'd', 'x']), 'resources': copy.deepcopy(chance.choice(RESOURCES))}]}}
        if chance.random() < 0.15:
            change['spec']['containers'][0].update(chance.choice([{'image': 'other'}, {'resizePolicy': []}, {'env': [{'name': 'A'}]}]))
        if chance.random() < 0.1:
            change = merged(change, chance.choice([{'metadata': {'labels': {'a': 'b'}}}, {'spec': {'activeDeadlineSeconds': 5}}, {'spec': {'resources': {'requests': {'cpu': '1'}}}}]))
        return self.write('resize', self.path + '/resize', self.pod_head(), change)

    def binding(self):
        body = merged({'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': self.name}}, copy.deepcopy(self.chance.choice(BINDINGS)))
        if self.chance.random() < 0.3:
            return Request('binding at its own', 'POST', self.query(f'/api/v1/namespaces/{self.namespace}/bindings'), compact(body))
        return Request('binding', 'POST', self.query(self.path + '/binding'), compact(body))

    def eviction(self):
        body = merged({'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': self.name}}, copy.deepcopy(self.chance.choice(EVICTIONS)))
        return Request('eviction', 'POST', self.query(self.path + '/eviction', dry=0.6), compact(body))

    def streams(self):
        chance = self.chance
        part = chance.choice(['log', 'log', 'log', 'exec', 'attach', 'portforward', 'proxy', 'proxy/x'])
        query = chance.choice(['', 'container=c', 'container=nothing', 'tailLines=-1', 'tailLines=x', 'sinceSeconds=0', 'sinceSeconds=5&sinceTime=2031-01-01T00:00:00Z', 'limitBytes=0', 'stream=Bogus', 'stream=Stdout&tailLines=1', 'previous=true', 'follow=x', 'timestamps=1', 'command=ls', 'command=ls&stdout=1',
                                     'stdin=true&tty=true&stderr=true', 'ports=80', 'container=', 'sinceTime=x', 'insecureSkipTLSVerifyBackend=true'])
        method = chance.choice(['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE'])
        return Request(part, method, f'{self.path}/{part}' + (f'?{query}' if query else ''), None)

    def of_token(self):
        chance = self.chance
        accounts = f'/api/v1/namespaces/{self.namespace}/serviceaccounts'
        yield self.made(accounts, {'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': self.name}})
        for _ in range(5):
            body = merged({'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenRequest'}, copy.deepcopy(chance.choice(TOKENS)))
            name = chance.choice([self.name, self.name, self.name, 'absent', 'Bad_Name'])
            yield Request('token', 'POST', self.query(f'{accounts}/{name}/token'), compact(body))

    def of_request(self):
        chance = self.chance
        collection = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
        seeds = json.loads((SEEDS / 'policy.json').read_text())
        seed = next(entry for entry in seeds if entry['kind'].endswith('CertificateSigningRequest'))
        body = merged({'apiVersion': 'certificates.k8s.io/v1', 'kind': 'CertificateSigningRequest', 'metadata': {'name': self.name}}, copy.deepcopy(chance.choice(seed['objects'])))
        yield self.made(collection, body)
        head = {'apiVersion': 'certificates.k8s.io/v1', 'kind': 'CertificateSigningRequest', 'metadata': {'name': self.name}}
        for _ in range(6):
            part = chance.choice(['approval', 'approval', 'status'])
            status = {'conditions': copy.deepcopy(chance.sample(CONDITIONS, chance.choice([1, 1, 2])))}
            if chance.random() < 0.25:
                status['certificate'] = chance.choice(['', 'eA==', 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo='])
            change = {'status': status}
            if chance.random() < 0.15:
                change['spec'] = {'signerName': 'example.com/other'}
            yield self.write(part, f'{collection}/{self.name}/{part}', head, change)
        yield Request('get', 'GET', f'{collection}/{self.name}')

    def of_scale(self):
        chance = self.chance
        template = {'metadata': {'labels': {'a': 'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'example.com/c'}]}}
        plural, group, kind = chance.choice([('deployments', 'apps/v1', 'Deployment'), ('replicasets', 'apps/v1', 'ReplicaSet'), ('statefulsets', 'apps/v1', 'StatefulSet'), ('replicationcontrollers', 'v1', 'ReplicationController')])
        root = '/api/v1' if group == 'v1' else '/apis/' + group
        collection = f'{root}/namespaces/{self.namespace}/{plural}'
        selector = {'a': 'b'} if group == 'v1' else {'matchLabels': {'a': 'b'}}
        yield self.made(collection, {'apiVersion': group, 'kind': kind, 'metadata': {'name': self.name}, 'spec': {'replicas': 1, 'selector': selector, 'template': template}})
        head = {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': self.name, 'namespace': self.namespace}}
        path = f'{collection}/{self.name}/scale'
        for _ in range(7):
            change = copy.deepcopy(chance.choice([{'spec': {'replicas': 3}}, {'spec': {'replicas': -1}}, {'spec': {'replicas': 'x'}}, {'spec': {'replicas': None}}, {'spec': {}}, {'spec': None}, {'metadata': {'name': 'other'}}, {'metadata': {'resourceVersion': '1'}}, {'metadata': {'uid': 'x'}}, {'bogus': 1},
                                                  {'status': {'replicas': 9}}, {'metadata': {'labels': {'x': 'y'}}}, {'kind': 'Bogus'}, {'apiVersion': 'v1'}, {'apiVersion': 'extensions/v1beta1'}, {'spec': {'replicas': 2}, 'metadata': {'namespace': 'other'}}, {'spec': {'replicas': 2147483648}}, {'spec': {'replicas': 5, 'bogus': 1}}]))
            if chance.random() < 0.2:
                yield Request('put scale', 'PUT', self.query(path), compact(merged(head, change)))
            else:
                yield self.write('scale', path, head, change)
        yield Request('get', 'GET', f'{collection}/{self.name}')

    def of_namespace(self):
        """A namespace of its own, whose finalizers come and go."""
        chance = self.chance
        path = f'/api/v1/namespaces/{self.name}'
        head = {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': self.name}}
        yield self.made('/api/v1/namespaces', head)
        for _ in range(6):
            change = copy.deepcopy(chance.choice([{'spec': {'finalizers': []}}, {'spec': {'finalizers': ['kubernetes', 'example.com/x']}}, {'spec': {'finalizers': ['x']}}, {'spec': {'finalizers': ['']}}, {'spec': None}, {'status': {'phase': 'Terminating'}}, {'status': {'phase': 'Bogus'}},
                                                  {'status': {'conditions': [{'type': 'A', 'status': 'True'}]}}, {'metadata': {'labels': {'a': 'b'}}}, {'metadata': {'name': 'other'}}, {'metadata': {'finalizers': ['example.com/f']}}, {'bogus': 1}, {'spec': {'finalizers': 'x'}}, {'metadata': {'labels': {'kubernetes.io/metadata.name': 'x'}}}]))
            way = chance.choice(['finalize', 'finalize', 'status', 'status', 'self', 'delete'])
            if way == 'finalize':
                yield Request('put finalize', chance.choice(['PUT', 'PUT', 'PUT', 'PATCH', 'GET']), self.query(path + '/finalize'), compact(merged(head, change)))
            elif way == 'delete':
                yield Request('delete', 'DELETE', path + chance.choice(['', '?dryRun=All', '?propagationPolicy=Foreground', '?gracePeriodSeconds=5', '?propagationPolicy=Orphan']))
            else:
                yield self.write(way, path + ('/status' if way == 'status' else ''), head, change)
        yield Request('get', 'GET', path)
        self.gone.append(path)
