"""What a server serves, as it says itself: resources from discovery, the schemas of their kinds from OpenAPI."""
import json

REFERENCE = '#/components/schemas/'


class Resource:
    """A kind that can be created: where, and what of."""

    def __init__(self, group_version, entry, schema):
        group, _, version = group_version.rpartition('/')
        self.group_version, self.group, self.version = group_version, group, version
        self.kind, self.plural, self.namespaced = entry['kind'], entry['name'], entry['namespaced']
        self.schema = schema
        self.subresources = set()
        self.seeds = None

    @property
    def title(self):
        return f'{self.group_version} {self.kind}'

    def path(self, namespace):
        root = f'/apis/{self.group_version}' if self.group else f'/api/{self.version}'
        return f'{root}/namespaces/{namespace}/{self.plural}' if self.namespaced else f'{root}/{self.plural}'


def load(get):
    """Resources by title. `get` takes a path and gives what the server answers, as JSON."""
    versions = [('/api/v1', 'v1')]
    for group in get('/apis')['groups']:
        versions += [(f"/apis/{version['groupVersion']}", version['groupVersion']) for version in group['versions']]
    resources = {}
    for path, group_version in versions:
        try:
            components = get('/openapi/v3' + path)['components']['schemas']
        except RuntimeError:
            continue  # a group of an APIService that nothing serves
        kinds = {}
        for name, schema in components.items():
            for gvk in schema.get('x-kubernetes-group-version-kind', []):
                version = f"{gvk['group']}/{gvk['version']}" if gvk['group'] else gvk['version']
                if version == group_version and name.endswith('.' + gvk['kind']):
                    kinds[gvk['kind']] = name
        listed = get(path)['resources']
        for entry in listed:
            if '/' in entry['name'] or 'create' not in entry['verbs'] or entry['kind'] not in kinds:
                continue
            resource = Resource(group_version, entry, Schemas(components).at(kinds[entry['kind']]))
            resource.subresources = {other['name'].split('/', 1)[1] for other in listed
                                     if other['name'].startswith(entry['name'] + '/')}
            resources[resource.title] = resource
    return resources


class Schemas:
    """The schemas of one document."""

    def __init__(self, components):
        self.components = components

    def at(self, name):
        return Schema(self, self.components[name])


class Schema:
    """One schema, its references followed when asked for."""

    def __init__(self, document, raw):
        self.document = document
        while True:
            if '$ref' in raw:
                raw = document.components[raw['$ref'].removeprefix(REFERENCE)]
            elif len(raw.get('allOf', [])) == 1:
                raw = {**{name: value for name, value in raw.items() if name != 'allOf'}, **raw['allOf'][0]}
            else:
                break
        self.raw = raw

    @property
    def type(self):
        """object, map, list, string, integer, number, boolean, int-or-string, quantity or any."""
        raw = self.raw
        if raw.get('format') == 'int-or-string' or raw.get('x-kubernetes-int-or-string'):
            return 'int-or-string'
        if 'oneOf' in raw and {one.get('type') for one in raw['oneOf']} == {'string', 'number'}:
            return 'quantity'
        kind = raw.get('type')
        if kind == 'object':
            return 'object' if 'properties' in raw else 'map' if 'additionalProperties' in raw else 'any'
        return {'array': 'list', None: 'any'}.get(kind, kind)

    @property
    def properties(self):
        return {name: Schema(self.document, raw) for name, raw in self.raw.get('properties', {}).items()}

    @property
    def required(self):
        return self.raw.get('required', [])

    def element(self):
        raw = self.raw.get('items') or self.raw.get('additionalProperties')
        return Schema(self.document, raw if isinstance(raw, dict) else {})

    def get(self, name):
        raw = self.raw.get('properties', {}).get(name)
        return None if raw is None else Schema(self.document, raw)
