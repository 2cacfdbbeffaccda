"""Conversations about a collection: objects in a namespace of their own, then lists, watches, other forms of the answer and
deletions of many, with parameters that are valid and that are not. ${rv} and ${continue} in a path are what the same server answered last."""
import random
import urllib.parse

import cases
import space
import values
from cases import MERGE, Request, compact, merged

FORMS = ['application/json;as=Table;v=v1;g=meta.k8s.io', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
         'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
         'application/json;as=Table;v=v1beta1;g=meta.k8s.io', 'application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io',
         'application/yaml', 'application/yaml;as=Table;v=v1;g=meta.k8s.io', 'application/vnd.kubernetes.protobuf',
         'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', 'application/cbor', 'application/cbor,application/json']
ODD_FORMS = ['text/html', '', '*/*', 'application/*', 'application/json;as=Bogus;v=v1;g=meta.k8s.io', 'application/json;as=Table;v=v2;g=meta.k8s.io',
             'application/json;as=Table', 'application/json;as=Table;v=v1;g=bogus', 'application/json;as=Table;g=meta.k8s.io', 'application/json;q=0.1,application/yaml',
             'application/yaml;q=0.9,application/json;q=0.5', 'application/xml,application/json', 'application/json;pretty=1', 'bogus', 'application/json;stream=watch',
             'application/json; charset=utf-8', 'APPLICATION/JSON', 'text/html,application/xhtml+xml,*/*;q=0.8', 'application/json;as=APIGroup;v=v1;g=',
             'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io;x=y', 'application/json;as=;v=;g=', 'application/json;', ';', 'application/apply-patch+yaml']
LABEL_SELECTORS = ['a', '!a', 'a=b', 'a==b', 'a!=b', 'a in (b,c)', 'a notin (b)', 'a in (b)', 'n=1', 'n in (0,2)', 'n>1', 'n<2', 'n!=0,a', 'a,!b', ' a = b ', '']
ODD_LABEL_SELECTORS = ['a==', 'a>x', 'a in', 'bad key', 'a=b c', ',', 'a=' + values.LONG, '=b', 'a in ()', 'a in (b', 'a notin', '!', '!a=b', 'a=b=c', 'a,,b', 'a>1.5', 'a in b',
                       'a/b/c', 'UPPER.com/x=y', '_a', 'a=_b', 'a b', '(a)', 'a=b,', 'a exists', 'x in (,a)', 'x in (a,)', 'é=b', 'a=é', 'a>' + '9' * 20, 'a! b', 'a!b', '!!a', '"a"=b']
ODD_FIELD_SELECTORS = ['metadata.name', 'spec.x=1', '=', 'a', 'metadata.name=', 'metadata.name!=a', 'metadata.labels.a=b', 'metadata.name in (a)', 'metadata.name=a,', ',', 'metadata.uid=x',
                       'metadata.name=a=b', 'metadata.name==a', 'metadata.name\\=a', 'metadata.name=a\\,b', 'metadata.name=a\\', 'status.phase!=Running', 'spec.nodeName=', 'type=x',
                       'metadata.namespace=other', 'metadata.name=Bad Name', 'metadata.creationTimestamp=x', 'involvedObject.name=x', 'name=a', 'metadata..name=a', '!metadata.name']
LIMITS, ODD_LIMITS = ['1', '2', '3', '500', '0', ''], ['-1', 'x', '1.5', '99999999999999999999', ' 1', '0x1', '+1']
MATCHES = ['Exact', 'NotOlderThan', '', 'x', 'exact']
VERSIONS = ['${rv}', '0', '', '${rv}', 'x', '-1', '1.5', '00', '99999999999999999999']  # none that is old: when etcd forgets is a matter of time
CONTINUES = ['${continue}', '${continue}', 'x', '', 'abcde', 'a%b', '%%%', 'e30', 'bnVsbA', 'eyJ2IjoiYm9ndXMifQ',
             'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vYSJ9']
BOOLEANS = ['true', 'false', '1', '0', 'x', '', 'True']
# What more than names one may select by.
FIELDS = {'Event': ['involvedObject.kind', 'involvedObject.name', 'involvedObject.namespace', 'reason', 'source', 'type', 'reportingComponent', 'reportingController', 'regarding.kind'],
          'Namespace': ['status.phase'], 'Node': ['spec.unschedulable'], 'Pod': ['spec.nodeName', 'spec.restartPolicy', 'status.phase', 'status.podIP', 'spec.schedulerName', 'spec.serviceAccountName', 'spec.hostNetwork',
          'status.nominatedNodeName'], 'ReplicationController': ['status.replicas'], 'Secret': ['type'], 'Service': ['spec.clusterIP', 'spec.type'], 'ReplicaSet': ['status.replicas'], 'Job': ['status.successful'],
          'CertificateSigningRequest': ['spec.signerName'], 'ResourceSlice': ['spec.nodeName', 'spec.driver'], 'PodDisruptionBudget': ['spec.x'], 'StatefulSet': ['status.successful']}
DELETE_BODIES = [None, None, '', '{}', {'propagationPolicy': 'Orphan'}, {'propagationPolicy': 'Bogus'}, {'gracePeriodSeconds': 0}, {'gracePeriodSeconds': -1}, {'dryRun': ['All']}, {'dryRun': ['x']},
                 {'preconditions': {'uid': 'x'}}, {'preconditions': {'resourceVersion': '1'}}, {'orphanDependents': True}, {'orphanDependents': True, 'propagationPolicy': 'Background'}, {'kind': 'x'},
                 {'kind': 'DeleteOptions', 'apiVersion': 'v1'}, {'kind': 'DeleteOptions', 'apiVersion': 'meta.k8s.io/v1'}, {'kind': 'DeleteOptions', 'apiVersion': 'bogus/v1'}, 'x', '[]', 'null',
                 {'bogus': 1}, {'gracePeriodSeconds': 'x'}, {'ignoreStoreReadErrorWithClusterBreakingPotential': True}, {'ignoreStoreReadErrorWithClusterBreakingPotential': False}]


class Lists(cases.Case):
    goes_on = True

    def __init__(self, seed, number, resources, namespace):
        usable = [resource for resource in resources if not resource.seeds.get('shared') and 'names' not in resource.seeds]
        super().__init__(seed, number, usable, namespace)
        self.space = f'{namespace}-l{number}'
        if self.resource.namespaced:
            self.collection = self.resource.path(self.space)
        self.selectors = ['metadata.name', 'metadata.name', 'metadata.namespace', *FIELDS.get(self.resource.kind, [])]
        self.names = [f'{namespace}-{number}-{letter}' for letter in 'abcde']
        self.path = f'{self.collection}/{self.names[0]}'

    def prepare(self):
        """What must be there, and is no matter of comparison."""
        if not self.resource.namespaced:
            return []
        account = {'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': 'default'}}
        return [Request('', 'POST', '/api/v1/namespaces', compact({'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': self.space}})),
                Request('', 'POST', f'/api/v1/namespaces/{self.space}/serviceaccounts', compact(account))]

    def requests(self):
        chance = self.chance
        for index, name in enumerate(self.names):
            body = cases.seed_object(self.resource, chance.randrange(len(self.resource.seeds['objects'])), name, self.space)
            labels = {'run': self.space, 'n': str(index), **({'a': 'b'} if index % 2 else {'a': 'c', 'b': ''})}
            yield Request('create seed', 'POST', self.collection, compact(merged(body, {'metadata': {'labels': labels}})))
        yield Request('list', 'GET', self.base(limit='2'))
        steps = [self.list, self.list, self.list, self.one, self.watch, self.remove, self.change, self.page, self.page]
        for _ in range(chance.randint(8, 14)):
            yield chance.choice(steps)()

    def cleanup(self):
        gone = compact({'gracePeriodSeconds': 0, 'propagationPolicy': 'Background'})
        requests = []
        for name in self.names:
            path = f'{self.collection}/{name}'
            requests += [Request('', 'DELETE', path, gone), Request('', 'PATCH', path, '{"metadata":{"finalizers":null}}', MERGE), Request('', 'DELETE', path, gone)]
        if self.resource.namespaced:
            requests.append(Request('', 'DELETE', f'/api/v1/namespaces/{self.space}/serviceaccounts/default'))
            requests += [Request('', *request) for request in space.removal(self.space)]
        return requests

    def base(self, **query):
        """A list of ours alone: cluster-scoped kinds have others."""
        if not self.resource.namespaced:
            label = query.get('labelSelector')
            query['labelSelector'] = f'run={self.space}' + (f',{label}' if label else '')
        return self.collection + ('?' + self.encoded(query) if query else '')

    @staticmethod
    def encoded(query):
        return urllib.parse.urlencode(query, safe='${}')

    def label(self):
        return self.chance.choice(LABEL_SELECTORS if self.chance.random() < 0.6 else ODD_LABEL_SELECTORS)

    def field(self):
        chance = self.chance
        if chance.random() < 0.3:
            return chance.choice(ODD_FIELD_SELECTORS)
        parts = []
        for _ in range(chance.choice([1, 1, 2])):
            name = chance.choice(self.selectors)
            value = chance.choice([self.names[0], self.names[1], '', 'x', self.space, 'true', 'Pending', 'ClusterIP', 'Opaque', '0'])
            parts.append(name + chance.choice(['=', '==', '!=']) + value)
        return ','.join(parts)

    def parameters(self):
        chance, query = self.chance, {}
        if chance.random() < 0.35:
            query['labelSelector'] = self.label()
        if chance.random() < 0.3:
            query['fieldSelector'] = self.field()
        if chance.random() < 0.3:
            query['limit'] = chance.choice(LIMITS if chance.random() < 0.8 else ODD_LIMITS)
        if chance.random() < 0.3:
            query['resourceVersion'] = chance.choice(VERSIONS)
        if chance.random() < 0.2:
            query['resourceVersionMatch'] = chance.choice(MATCHES)
        if chance.random() < 0.08:
            query['timeoutSeconds'] = chance.choice(['1', '5', 'x', '-1', '1.5', ''])
        if chance.random() < 0.06:
            query['pretty'] = chance.choice(BOOLEANS)
        if chance.random() < 0.05:
            query[chance.choice(['bogus', 'timeout', 'export', 'includeUninitialized', 'allowWatchBookmarks', 'sendInitialEvents', 'includeObject', 'dryRun'])] = \
                chance.choice(['x', '', '0', 'false', '-1s'])
        return query

    def accept(self, share=0.3):
        chance = self.chance
        return None if chance.random() > share else chance.choice(FORMS if chance.random() < 0.7 else ODD_FORMS)

    def list(self):
        query = self.parameters()
        if self.resource.namespaced and self.chance.random() < 0.06 and not query.get('fieldSelector'):
            query['labelSelector'] = f'run={self.space}'
            everywhere = self.collection.replace(f'/namespaces/{self.space}', '')
            return Request('list everywhere', 'GET', everywhere + '?' + self.encoded(query), accept=self.accept())
        if self.chance.random() < 0.05:
            query['includeObject'] = self.chance.choice(['None', 'Metadata', 'Object', 'x', ''])
            return Request('list', 'GET', self.base(**query), accept=FORMS[0])
        return Request('list', 'GET', self.base(**query), accept=self.accept())

    def page(self):
        query = {'limit': self.chance.choice(['1', '2', '3', '', '0', '500']), 'continue': self.chance.choice(CONTINUES)}
        if self.chance.random() < 0.3:
            query.update(self.parameters())
        return Request('page', 'GET', self.base(**query), accept=self.accept(0.15))

    def one(self):
        chance, query = self.chance, {}
        if chance.random() < 0.2:
            query['resourceVersion'] = chance.choice(VERSIONS)
        if chance.random() < 0.1:
            query[chance.choice(['pretty', 'bogus', 'includeObject', 'resourceVersionMatch', 'fieldManager', 'export', 'labelSelector'])] = chance.choice(['x', '', 'true', 'None', 'Object', 'Metadata'])
        path = f'{self.collection}/{chance.choice([*self.names, "absent", "Bad_Name"])}'
        method = 'HEAD' if chance.random() < 0.05 else 'GET'
        return Request('get one', method, path + ('?' + self.encoded(query) if query else ''), accept=self.accept(0.6))

    def watch(self):
        chance = self.chance
        query = {'watch': chance.choice(['1', 'true', 'true', '1', 'x', '']), 'timeoutSeconds': '1', **{name: value for name, value in self.parameters().items() if name != 'timeoutSeconds'}}
        query['resourceVersion'] = chance.choice(['${rv}', '${rv}', '', '0', 'x', '${rv}', '-1'])
        if chance.random() < 0.7:
            query.pop('resourceVersionMatch', None)
        if chance.random() < 0.2:
            query['allowWatchBookmarks'] = chance.choice(BOOLEANS)
        if chance.random() < 0.25:
            query['sendInitialEvents'] = chance.choice(BOOLEANS)
            if chance.random() < 0.7:
                query['resourceVersionMatch'] = chance.choice(['NotOlderThan', 'NotOlderThan', 'Exact'])
            if chance.random() < 0.7:
                query['allowWatchBookmarks'] = 'true'
        path = self.base(**query)
        if chance.random() < 0.1 and self.resource.namespaced:
            root = '/api/v1' if not self.resource.group else f'/apis/{self.resource.group_version}'
            path = path.replace(root, root + '/watch', 1)
        return Request('watch', 'GET', path, accept=self.accept(0.2))

    def change(self):
        name = self.chance.choice(self.names)
        patch = self.chance.choice([{'metadata': {'labels': {'a': self.chance.choice(['b', 'c', None])}}}, {'metadata': {'annotations': {'x': str(self.chance.randrange(9))}}}])
        return Request('change', 'PATCH', f'{self.collection}/{name}', compact(patch), MERGE)

    def remove(self):
        chance = self.chance
        body = chance.choice(DELETE_BODIES)
        text = body if body is None or isinstance(body, str) else compact(body)
        query = {}
        if chance.random() < 0.4:
            query[chance.choice(['dryRun', 'gracePeriodSeconds', 'propagationPolicy', 'orphanDependents', 'pretty', 'bogus', 'preconditions'])] = \
                chance.choice(['All', 'x', '', '0', '-1', 'true', 'Foreground', 'Background', 'Orphan'])
        content = chance.choice(['application/json'] * 12 + ['application/yaml', 'text/plain', 'application/merge-patch+json', 'application/cbor', 'application/vnd.kubernetes.protobuf', ''])
        if chance.random() < 0.5:
            query.update({name: value for name, value in self.parameters().items() if name in ('labelSelector', 'fieldSelector', 'limit', 'resourceVersion', 'resourceVersionMatch')})
            query.setdefault('labelSelector', chance.choice(['n=4', 'n=3', 'a=x']))
            return Request('delete many', 'DELETE', self.base(**query), text, content, accept=self.accept(0.1))
        path = f'{self.collection}/{chance.choice([self.names[4], self.names[3], "absent"])}'
        return Request('delete one', 'DELETE', path + ('?' + self.encoded(query) if query else ''), text, content, accept=self.accept(0.1))
