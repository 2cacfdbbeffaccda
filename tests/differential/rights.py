"""What a user who may do some things may do: writes, reads and reviews under impersonation, roles that grant more than one has,
bindings to them, impersonation of one's own."""
import copy
import random
import types
import urllib.parse

import cases
from cases import APPLY, MERGE, STRATEGIC, Request, compact, merged

GROUP = 'rbac.authorization.k8s.io'
RULES = [
    {'apiGroups': [''], 'resources': ['pods'], 'verbs': ['get', 'list']},
    {'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['*']},
    {'apiGroups': [''], 'resources': ['configmaps', 'secrets'], 'verbs': ['get'], 'resourceNames': ['a', 'b']},
    {'apiGroups': ['apps'], 'resources': ['deployments', 'deployments/scale'], 'verbs': ['get', 'update', 'patch', 'create']},
    {'apiGroups': ['apps', 'batch'], 'resources': ['*'], 'verbs': ['list', 'watch', 'deletecollection']},
    {'apiGroups': ['*'], 'resources': ['*/status'], 'verbs': ['get', 'patch']},
    {'apiGroups': [''], 'resources': ['serviceaccounts/token'], 'verbs': ['create'], 'resourceNames': ['default']},
    {'apiGroups': [''], 'resources': ['users', 'groups', 'serviceaccounts'], 'verbs': ['impersonate'], 'resourceNames': ['bob', 'crew']},
    {'apiGroups': ['authentication.k8s.io'], 'resources': ['userextras/scopes', 'uids'], 'verbs': ['impersonate']},
    {'apiGroups': [''], 'resources': ['pods/eviction', 'pods/binding', 'bindings', 'pods/ephemeralcontainers'], 'verbs': ['create', 'patch']},
]
PATHS = [{'nonResourceURLs': ['/metrics', '/x/*'], 'verbs': ['get']}, {'nonResourceURLs': ['*'], 'verbs': ['head']}]
ROLES = {'apiGroups': [GROUP], 'resources': ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'], 'verbs': ['get', 'list', 'create', 'update', 'patch', 'delete']}
POWERS = [{'apiGroups': [GROUP], 'resources': ['roles', 'clusterroles'], 'verbs': ['escalate']}, {'apiGroups': [GROUP], 'resources': ['roles', 'clusterroles'], 'verbs': ['bind']},
          {'apiGroups': [GROUP], 'resources': ['clusterroles'], 'verbs': ['bind'], 'resourceNames': ['view']}]
SUBJECTS = [[{'kind': 'User', 'name': 'bob', 'apiGroup': GROUP}], [{'kind': 'Group', 'name': 'crew', 'apiGroup': GROUP}], [{'kind': 'ServiceAccount', 'name': 'default', 'namespace': 'default'}], []]


class Rights(cases.Case):
    goes_on = True

    def __init__(self, seed, number, resources, namespace):
        self.chance = random.Random(f'{seed}/{number}/rights')
        self.number, self.namespace, self.shared = number, namespace, False
        self.resource = types.SimpleNamespace(kind='Rights', title='rights')
        self.name = f'{namespace}-{number}'
        self.user = f'ann-{self.name}'
        self.collection = f'/api/v1/namespaces/{namespace}/configmaps'
        self.path = f'{self.collection}/{self.name}'
        self.gone = [self.path]
        chance = self.chance
        self.had = chance.sample(RULES, chance.randint(1, 4))
        powers = chance.sample(POWERS, chance.choice([0, 0, 1, 2]))
        self.everywhere = chance.random() < 0.5
        self.rules = [*self.had, ROLES, *powers, *([chance.choice(PATHS)] if self.everywhere else [])]

    def prepare(self):
        kind = 'ClusterRole' if self.everywhere else 'Role'
        at = f'/apis/{GROUP}/v1/' + ('' if self.everywhere else f'namespaces/{self.namespace}/')
        name = f'own-{self.name}'
        role = {'apiVersion': f'{GROUP}/v1', 'kind': kind, 'metadata': {'name': name}, 'rules': self.rules}
        binding = {'apiVersion': f'{GROUP}/v1', 'kind': kind + 'Binding', 'metadata': {'name': name}, 'roleRef': {'apiGroup': GROUP, 'kind': kind, 'name': name},
                   'subjects': [{'kind': 'User', 'name': self.user, 'apiGroup': GROUP}]}
        self.gone += [f'{at}{kind.lower()}s/{name}', f'{at}{kind.lower()}bindings/{name}']
        return [Request('', 'POST', f'{at}{kind.lower()}s', compact(role)), Request('', 'POST', f'{at}{kind.lower()}bindings', compact(binding))]

    def cleanup(self):
        return [Request('', 'DELETE', path, compact({'gracePeriodSeconds': 0})) for path in self.gone]

    def as_user(self, request, **more):
        request.headers['Impersonate-User'] = self.user
        request.headers.update(more)
        return request

    def requests(self):
        chance = self.chance
        review = {'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SelfSubjectAccessReview', 'spec': {'resourceAttributes': {'namespace': self.namespace, 'group': GROUP, 'resource': 'roles', 'verb': 'get'}}}
        ready = self.as_user(Request('', 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', compact(review)))
        ready.until = lambda code, text: '"allowed":true' in text
        yield ready
        for _ in range(chance.randint(7, 12)):
            yield chance.choice([self.role, self.role, self.role, self.binding, self.binding, self.write, self.read, self.read, self.review, self.rules_review, self.path_of, self.impersonated])()

    def any_rules(self):
        """Some that the user has, in another shape, and some that it has not."""
        chance, rules = self.chance, []
        for _ in range(chance.choice([1, 1, 2, 3])):
            rule = copy.deepcopy(chance.choice([*self.had, *self.had, *RULES, ROLES]))
            if chance.random() < 0.3:
                rule['verbs'] = chance.choice([['get'], ['get', 'list'], ['*'], ['list', 'delete'], ['GET'], ['']])
            if chance.random() < 0.2:
                rule['resourceNames'] = chance.choice([['a'], ['a', 'c'], ['']])
            if chance.random() < 0.15:
                rule['resources'] = chance.choice([['pods/log'], ['*'], ['*/status'], ['configmaps', 'pods'], ['pods/*']])
            rules.append(rule)
        if chance.random() < 0.1:
            rules.append(chance.choice([*PATHS, {'verbs': ['get'], 'nonResourceURLs': ['/metrics']}, {'verbs': ['get']}, {}]))
        return rules

    def sent(self, operation, collection, body, extra=None):
        """Made, put, patched or applied, as a dry run more often than not."""
        chance, name = self.chance, body['metadata']['name']
        self.gone.append(f'{collection}/{name}')
        query = {'dryRun': 'All'} if chance.random() < 0.4 else {}
        way = chance.choice(['POST', 'POST', 'PUT', 'merge', 'apply'])
        path = collection if way == 'POST' else f'{collection}/{name}'
        content = {'merge': chance.choice([MERGE, STRATEGIC]), 'apply': APPLY}.get(way, 'application/json')
        if way == 'apply':
            query.update(fieldManager='m1', force='true')
        return self.as_user(Request(f'{operation} {way}', way if way in ('POST', 'PUT') else 'PATCH', path + ('?' + urllib.parse.urlencode(query) if query else ''), compact(body), content), **(extra or {}))

    def role(self):
        chance = self.chance
        cluster = chance.random() < 0.4
        body = {'apiVersion': f'{GROUP}/v1', 'kind': 'ClusterRole' if cluster else 'Role', 'metadata': {'name': f'{self.name}-{chance.choice("ab")}'}, 'rules': self.any_rules()}
        if cluster and chance.random() < 0.2:
            body['aggregationRule'] = {'clusterRoleSelectors': [{'matchLabels': {'never': 'true'}}]}
        return self.sent('role', f'/apis/{GROUP}/v1/' + ('clusterroles' if cluster else f'namespaces/{self.namespace}/roles'), body)

    def binding(self):
        chance = self.chance
        cluster = chance.random() < 0.4
        role = chance.choice([('ClusterRole', 'view'), ('ClusterRole', 'edit'), ('ClusterRole', 'absent'), ('Role', f'{self.name}-a'), ('Role', f'own-{self.name}'), ('ClusterRole', f'own-{self.name}'), ('ClusterRole', f'{self.name}-b'), ('ClusterRole', 'system:discovery')])
        body = {'apiVersion': f'{GROUP}/v1', 'kind': 'ClusterRoleBinding' if cluster else 'RoleBinding', 'metadata': {'name': f'{self.name}-{chance.choice("ab")}'},
                'roleRef': {'apiGroup': GROUP, 'kind': role[0], 'name': role[1]}, 'subjects': chance.choice(SUBJECTS)}
        return self.sent('binding', f'/apis/{GROUP}/v1/' + ('clusterrolebindings' if cluster else f'namespaces/{self.namespace}/rolebindings'), body)

    def write(self):
        chance = self.chance
        body, collection = chance.choice([
            ({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': chance.choice(['a', self.name])}, 'data': {'x': chance.choice('yz')}}, self.collection),
            ({'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'a'}}, f'/api/v1/namespaces/{self.namespace}/secrets'),
            ({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a'}}, '/api/v1/namespaces/absent/configmaps'),
            ({'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': self.name}}, '/api/v1/namespaces'),
            ({'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p'}, 'spec': {}}, f'/api/v1/namespaces/{self.namespace}/pods')])
        return self.sent('write', collection, body)

    def read(self):
        chance = self.chance
        at = f'/api/v1/namespaces/{self.namespace}'
        path = chance.choice(['/api/v1/pods?labelSelector=none%3Dsuch', f'{at}/pods', f'{at}/pods/absent', f'{at}/pods/absent/log', f'{at}/secrets', f'{at}/secrets/a', f'{at}/configmaps?fieldSelector=metadata.name%3Da', f'{at}/secrets?fieldSelector=metadata.name%3Da', f'{at}', '/api/v1/namespaces', '/api/v1/nodes/n1/proxy/x',
                              f'/apis/apps/v1/namespaces/{self.namespace}/deployments', '/apis/apps/v1/deployments?labelSelector=none%3Dsuch', f'/apis/apps/v1/namespaces/{self.namespace}/deployments/absent/scale', f'/apis/apps/v1/namespaces/{self.namespace}/deployments/absent/status', f'{at}/bogus', '/apis/bogus.example/v1/things/x', f'{at}/pods?watch=1&timeoutSeconds=1', '/api/v1/watch/pods?timeoutSeconds=1&labelSelector=none%3Dsuch'])
        return self.as_user(Request('read', chance.choice(['GET', 'GET', 'GET', 'DELETE']) if 'watch' not in path else 'GET', path), **({'Impersonate-Group': 'system:masters'} if chance.random() < 0.03 else {}))

    def review(self):
        chance = self.chance
        rule = chance.choice([rule for rule in self.rules if 'resources' in rule])
        resource, _, part = chance.choice(rule['resources']).partition('/')
        attributes = {'namespace': chance.choice([self.namespace, self.namespace, '', 'other']), 'group': chance.choice([*rule['apiGroups'], 'apps', '']), 'resource': resource, 'subresource': part, 'verb': chance.choice([*rule['verbs'], 'get', 'delete']), 'name': chance.choice(['', *rule.get('resourceNames', ['x'])])}
        body = {'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SelfSubjectAccessReview', 'spec': {'resourceAttributes': {name: value for name, value in attributes.items() if value}}}
        return self.as_user(Request('review', 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', compact(body)))

    def rules_review(self):
        group, kind = self.chance.choice([('authorization.k8s.io', 'SelfSubjectRulesReview'), ('authentication.k8s.io', 'SelfSubjectReview')])
        body = {'apiVersion': f'{group}/v1', 'kind': kind, **({'spec': {'namespace': self.chance.choice([self.namespace, 'other'])}} if kind == 'SelfSubjectRulesReview' else {})}
        more = self.chance.choice([{}, {'Impersonate-Group': 'crew'}, {'Impersonate-Extra-Scopes': 'a'}, {'Impersonate-Uid': 'u1'}, {'Impersonate-Extra-Example.com%2fX': 'v'}, {'Impersonate-Extra-A': 'b', 'Impersonate-Uid': 'u', 'Impersonate-Group': 'system:authenticated'}])
        return self.as_user(Request('of oneself', 'POST', f'/apis/{group}/v1/{kind.lower()}s', compact(body)), **more)

    def path_of(self):
        path = self.chance.choice(['/metrics', '/x/y', '/x', '/healthz', '/version', '/openapi/v3', '/api', '/apis/apps', '/livez/ping', '/logs', '/configz', '/', '/.well-known/openid-configuration', '/openid/v1/jwks', '/bogus'])
        request = self.as_user(Request('path', 'HEAD' if path in ('/metrics', '/version', '/openapi/v3', '/', '/api', '/configz') else self.chance.choice(['GET', 'POST', 'HEAD']), path))
        return request

    def impersonated(self):
        """By a user that comes with a certificate and may do all, who is told what of the headers is not right; and by service accounts."""
        chance = self.chance
        headers = chance.choice([{'Impersonate-Group': 'crew'}, {'Impersonate-Uid': 'x'}, {'Impersonate-Extra-Scopes': 'x'}, {'Impersonate-User': ''}, {'Impersonate-User': 'system:serviceaccount:default:x'}, {'Impersonate-User': 'system:serviceaccount:Bad_Name:x'},
                                 {'Impersonate-User': 'system:anonymous'}, {'Impersonate-User': 'system:node:n1', 'Impersonate-Group': 'system:nodes'}, {'Impersonate-User': 'bob', 'Impersonate-Group': ''}, {'Impersonate-User': 'bob', 'Impersonate-Extra-': 'x'},
                                 {'Impersonate-User': 'bob', 'Impersonate-Group': 'system:unauthenticated'}, {'Impersonate-User': 'bob', 'Impersonate-Bogus': 'x'}, {'Impersonate-User': 'system:serviceaccount:default:x', 'Impersonate-Group': 'only'}])
        path, body = chance.choice([('/apis/authentication.k8s.io/v1/selfsubjectreviews', {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'SelfSubjectReview'}), (self.collection, None), ('/api/v1/nodes/n1', None), ('/api/v1/namespaces/default/secrets', None)])
        request = Request('impersonated', 'POST' if body else 'GET', path, compact(body) if body else None)
        request.headers.update(headers)
        return request
