"""The namespaces of a run, and what it leaves behind: a kube-apiserver alone has no controllers that would take it away."""
import json

MERGE = 'application/merge-patch+json'
AT_ONCE = json.dumps({'gracePeriodSeconds': 0, 'propagationPolicy': 'Background'})


def name(seed, alone=False):
    """Letters that no uid has, so that placeholders don't take a part of one for it. A case alone is looked at while the run goes on."""
    return ('diz' if alone else 'dif') + ''.join('ghjkmnpqrs'[int(digit)] for digit in str(seed))


def ours(found, namespace):
    return found == namespace or found.startswith(namespace + '-')


def sweep(connections, known, namespace):
    """Takes away the namespace, those named after it with all that is in them, and the objects of the whole cluster that a run made."""
    def ask(method, path, body=None, content='application/json'):
        code, _, data = connections.request(method, path, {'Content-Type': content} if body else {}, body.encode() if body else None)
        return json.loads(data) if code == 200 and data[:1] == b'{' else {}

    def gone(collection, found):
        ask('DELETE', f'{collection}/{found}', AT_ONCE)
        ask('PATCH', f'{collection}/{found}', '{"metadata":{"finalizers":null}}', MERGE)

    for resource in known.values():
        if not resource.namespaced and resource.kind not in ('Namespace', 'SelfSubjectReview'):
            collection = resource.path('')
            for item in ask('GET', collection).get('items') or []:
                found = item['metadata']['name']
                if ours(found, namespace) or f'.{namespace}-s-' in found:
                    gone(collection, found)
    spaces = [item['metadata']['name'] for item in ask('GET', '/api/v1/namespaces').get('items') or []]
    for space in (found for found in spaces if ours(found, namespace)):
        for resource in known.values():
            if resource.namespaced:
                collection = resource.path(space)
                for item in ask('GET', collection).get('items') or []:
                    gone(collection, item['metadata']['name'])
        for method, path, body in removal(space):
            ask(method, path, body)


def removal(space):
    """The requests that end an empty namespace."""
    at = f'/api/v1/namespaces/{space}'
    return [('DELETE', at, None),
            ('PUT', at + '/finalize', json.dumps({'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': space}, 'spec': {'finalizers': []}}))]
