"""What clients send that know what they want: several appliers of one object, kubectl's way from client-side to server-side apply,
strategic patches with every directive on every list with a key, JSON patches that test, move and copy, merge patches that take
fields away, controllers that write a status in parts, deletions with preconditions and finalizers. Mostly valid."""
import copy
import json
import random
import urllib.parse

import cases
from cases import APPLY, JSON_PATCH, MERGE, STRATEGIC, Request, compact, merged

LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'


def key_of(schema):
    return schema.raw.get('x-kubernetes-patch-merge-key')


def strategies(schema):
    return (schema.raw.get('x-kubernetes-patch-strategy') or '').split(',')


class Clients(cases.Case):
    goes_on = True

    def __init__(self, seed, number, resources, namespace):
        super().__init__(f'{seed}/clients', number, [resource for resource in resources if not resource.seeds.get('shared')], namespace)
        self.head = {name: self.object[name] for name in ('apiVersion', 'kind')} | {'metadata': {'name': self.name}}

    def requests(self):
        chance = self.chance
        ways = ['appliers', 'appliers', 'strategic', 'strategic', 'json', 'nulls', 'deletions', 'migration']
        if 'status' in self.resource.subresources:
            ways += ['status', 'status']
        if 'scale' in self.resource.subresources:
            ways += ['scales', 'scales']
        yield from getattr(self, 'by_' + chance.choice(ways))()
        yield Request('get', 'GET', self.path)
        yield Request('get table', 'GET', self.path + '?includeObject=None', accept=cases.TABLE)

    # What is written.

    def number_or_text(self, schema, name):
        return self.mutator.values.value(schema, name, 0.03, 3)

    def part_of(self, value, schema, share=0.5):
        """Some of the members of an object, items of keyed lists with their keys; some values changed."""
        chance, part = self.chance, {}
        for name, member in value.items():
            of = schema.get(name) or (schema.element() if schema.type == 'map' else None)
            if of is None or name not in schema.required and chance.random() > share:
                continue
            keys = of.raw.get('x-kubernetes-list-map-keys') if isinstance(member, list) else None
            if isinstance(member, dict) and of.type in ('object', 'map'):
                part[name] = self.part_of(member, of, 0.7)
            elif keys and all(isinstance(item, dict) for item in member):
                part[name] = [{**self.part_of(item, of.element(), 0.6), **{key: item[key] for key in keys if key in item}} for item in member if chance.random() < 0.8]
            elif not isinstance(member, (dict, list)) and chance.random() < 0.2:
                part[name] = self.number_or_text(of, name)
            else:
                part[name] = copy.deepcopy(member)
        return part

    def configuration(self, share):
        body = {name: value for name, value in self.object.items() if name not in ('apiVersion', 'kind', 'metadata', 'status')}
        part = self.part_of(body, self.resource.schema, share) if share < 1 else copy.deepcopy(body)
        labels = {name: self.chance.choice(['x', 'y']) for name in ('a', 'm') if self.chance.random() < 0.4}
        metadata = {'labels': labels} if labels else {}
        if self.chance.random() < 0.2:
            metadata['annotations'] = {'n': self.chance.choice(['1', '2'])}
        if self.chance.random() < 0.15:
            metadata['finalizers'] = self.chance.choice([['example.com/f'], ['example.com/f', 'example.com/g'], []])
        if self.chance.random() < 0.1:
            metadata['ownerReferences'] = [{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'o', 'uid': 'aaaaaaaa-0000-4000-8000-000000000001', 'controller': self.chance.random() < 0.5}]
        kept = self.object['metadata']  # a few kinds want something of it
        return merged({**self.head, **part}, {'metadata': {**(kept if share == 1 else {'name': self.name}), **metadata}})

    def applied(self, manager, body, path=None, force=None, dry=0.1, name='apply'):
        query = {'fieldManager': manager}
        if force is None:
            force = self.chance.random() < 0.3
        if force:
            query['force'] = 'true'
        if self.chance.random() < dry:
            query['dryRun'] = 'All'
        if self.chance.random() < 0.2:
            query['fieldValidation'] = self.chance.choice(['Strict', 'Ignore'])
        return Request(name, 'PATCH', f'{path or self.path}?{urllib.parse.urlencode(query)}', compact(body), APPLY)

    def made(self):
        return Request('create seed', 'POST', self.collection + self.chance.choice(['', '?fieldManager=m1', '?fieldManager=kubectl-create']), compact(self.object))

    # The conversations.

    def by_appliers(self):
        chance = self.chance
        yield self.applied('m1', self.configuration(1), dry=0) if chance.random() < 0.7 else self.made()
        for _ in range(chance.randint(3, 6)):
            step = chance.random()
            if step < 0.75:
                yield self.applied(chance.choice(['m1', 'm2', 'm2', 'm3']), self.configuration(chance.choice([0.3, 0.6, 1])))
            elif step < 0.85:
                yield Request('put live', 'PUT', f'{self.path}?fieldManager={chance.choice(["m1", "m4"])}', lambda live: compact(merged(live, {'metadata': {'labels': {'a': 'z'}}})))
            else:
                yield Request('merge patch', 'PATCH', f'{self.path}?fieldManager=m4', compact({name: value for name, value in self.configuration(0.3).items() if name not in ('apiVersion', 'kind')}), MERGE)
        yield self.applied('m1', self.configuration(1), force=True)

    def by_migration(self):
        """kubectl apply, then kubectl apply --server-side, which takes over what the former owned."""
        chance = self.chance
        text = compact(self.configuration(1))
        noted = merged(json.loads(text), {'metadata': {'annotations': {LAST_APPLIED: text + '\n'}}})
        yield Request('create seed', 'POST', self.collection + '?fieldManager=kubectl-client-side-apply', compact(noted))
        new = self.configuration(1)
        change = merged({'metadata': {'annotations': {LAST_APPLIED: compact(new) + '\n'}}}, {'metadata': {'labels': {'a': 'w'}}})
        yield Request('strategic patch', 'PATCH', self.path + '?fieldManager=kubectl-client-side-apply', compact(change), STRATEGIC)
        yield self.applied('kubectl', new, force=False)
        yield self.applied('kubectl', new, force=True, dry=0)

        alone = chance.random() < 0.5

        def take_over(live):
            fields = copy.deepcopy((live or {}).get('metadata', {}).get('managedFields') or [])
            for entry in fields:
                if entry['manager'] == 'kubectl-client-side-apply':
                    entry['operation'] = 'Apply'
                    entry['manager'] = 'kubectl'
            return compact([{'op': 'replace', 'path': '/metadata/managedFields', 'value': fields[:1] if alone else fields},
                            {'op': 'replace', 'path': '/metadata/resourceVersion', 'value': (live or {}).get('metadata', {}).get('resourceVersion', '')}])
        yield Request('take over', 'PATCH', self.path + '?fieldManager=kubectl', take_over, JSON_PATCH)
        yield Request('without the note', 'PATCH', self.path, compact({'metadata': {'annotations': {LAST_APPLIED: None}}}), MERGE)
        yield self.applied('kubectl', self.configuration(0.7), force=True)
        yield self.applied('other', self.configuration(0.4))

    def by_strategic(self):
        yield self.made()
        for _ in range(self.chance.randint(4, 7)):
            patch = self.strategic_of({name: value for name, value in self.object.items() if name not in ('apiVersion', 'kind')}, self.resource.schema, 0.5)
            patch.get('metadata', {}).pop('name', None)
            yield Request('strategic patch', 'PATCH', self.query(self.path, dry=0.3), compact(patch), STRATEGIC)

    def strategic_of(self, value, schema, share):
        chance, patch = self.chance, {}
        for name, member in value.items():
            of = schema.get(name) or (schema.element() if schema.type == 'map' else None)
            if of is None or chance.random() > share:
                continue
            if isinstance(member, dict) and of.type in ('object', 'map'):
                below = self.strategic_of(member, of, 0.6)
                if 'retainKeys' in strategies(of) and chance.random() < 0.5 or chance.random() < 0.03:
                    below['$retainKeys'] = [key for key in member if chance.random() < 0.8]
                if chance.random() < 0.05:
                    below['$patch'] = chance.choice(['replace', 'delete', 'merge'])
                patch[name] = below
            elif isinstance(member, list) and 'merge' in strategies(of):
                patch.update(self.list_patch(name, member, of))
            elif chance.random() < 0.2:
                patch[name] = None
            elif isinstance(member, list) or chance.random() < 0.4:
                patch[name] = copy.deepcopy(member)
            else:
                patch[name] = self.number_or_text(of, name)
        return patch

    def list_patch(self, name, items, of):
        chance, key, patch = self.chance, key_of(of), {}
        if key is None:  # a set of texts
            if chance.random() < 0.6:
                patch[f'$deleteFromPrimitiveList/{name}'] = [item for item in items if chance.random() < 0.5]
            if chance.random() < 0.6:
                patch[name] = [*(item for item in items if chance.random() < 0.4), *chance.sample(['example.com/n', 'x', '10.0.0.9'], 1)]
            if chance.random() < 0.4:
                patch[f'$setElementOrder/{name}'] = chance.sample(items, len(items)) + patch.get(name, [])
            return patch
        if not all(isinstance(item, dict) and key in item for item in items):
            return {name: copy.deepcopy(items)}
        changes, order = [], [{key: item[key]} for item in items]
        for item in items:
            way = chance.choice(['change', 'change', 'delete', 'keep', 'retain', 'swap'])
            if way == 'change':
                changes.append({**self.strategic_of(item, of.element(), 0.5), key: item[key]})
            elif way == 'delete':
                changes.append({'$patch': 'delete', key: item[key]})
            elif way == 'retain':
                kept = [field for field in item if field == key or chance.random() < 0.6]
                changes.append({**{field: copy.deepcopy(item[field]) for field in kept}, '$retainKeys': kept})
            elif way == 'swap':
                changes.append({**copy.deepcopy(item), '$patch': 'replace'} if chance.random() < 0.3 else copy.deepcopy(item))
        if items and chance.random() < 0.4:
            new = copy.deepcopy(chance.choice(items))
            new[key] = new[key] + 1 if isinstance(new[key], int) else f'{new[key]}2'
            changes.insert(chance.randint(0, len(changes)), new)
            order.append({key: new[key]})
        if chance.random() < 0.1:
            changes.insert(0, {'$patch': 'replace'})
        if chance.random() < 0.5:
            patch[f'$setElementOrder/{name}'] = chance.sample(order, len(order)) if chance.random() < 0.8 else order[:1]
        chance.shuffle(changes)
        patch[name] = changes
        return patch

    def by_json(self):
        chance = self.chance
        yield self.made()
        places = [place for place in cases.mutate.pointers(self.object) if place.startswith(('/spec', '/data', '/rules', '/webhooks', '/template', '/metadata/labels', '/metadata/annotations', '/subsets', '/endpoints', '/ports'))] or ['/metadata']
        for _ in range(chance.randint(3, 6)):
            operations = [{'op': 'test', 'path': '/kind', 'value': self.object['kind']}] if chance.random() < 0.3 else []
            for _ in range(chance.choice([1, 2, 2, 3])):
                place, other = chance.choice(places), chance.choice(places)
                way = chance.choice(['test', 'replace', 'remove', 'copy', 'move', 'add', 'label'])
                if way == 'label':
                    operations.append({'op': 'add', 'path': '/metadata/labels', 'value': {'a': 'b'}})
                    operations.append({'op': chance.choice(['copy', 'move']), 'from': '/metadata/labels/a', 'path': '/metadata/labels/b~1c'})
                elif way in ('copy', 'move'):
                    parent = place.rsplit('/', 1)[0]
                    operations.append({'op': way, 'from': place, 'path': chance.choice([other, place, parent + '/-', parent + '/0'])})
                elif way == 'remove':
                    operations.append({'op': 'remove', 'path': place})
                else:
                    operations.append({'op': way, 'path': place, 'value': copy.deepcopy(self.at(place if chance.random() < 0.8 else other))})
            yield Request('json patch', 'PATCH', self.query(self.path, dry=0.4), compact(operations), JSON_PATCH)

    def by_nulls(self):
        chance = self.chance
        yield self.made()

        def nulls(value, share):
            patch = {}
            for name, member in value.items():
                if chance.random() > share:
                    continue
                patch[name] = nulls(member, 0.5) if isinstance(member, dict) and chance.random() < 0.7 else None
            return patch
        for _ in range(chance.randint(3, 6)):
            body = {name: value for name, value in self.object.items() if name not in ('apiVersion', 'kind', 'metadata')}
            patch = nulls(body, 0.6)
            if chance.random() < 0.3:
                patch['metadata'] = chance.choice([{'labels': None}, {'annotations': None}, {'finalizers': None}, {'ownerReferences': None}, {'labels': {'a': None, 'q': '1'}}, {'generation': None}, {'managedFields': None}, {'creationTimestamp': None}, {'resourceVersion': None}])
            yield Request('merge patch', 'PATCH', self.query(self.path, dry=0.5), compact(patch), chance.choice([MERGE, MERGE, STRATEGIC]))
        yield Request('put live', 'PUT', self.path, lambda live: compact({**live, 'metadata': {name: value for name, value in live.get('metadata', {}).items() if name != 'managedFields'}}))

    def by_status(self):
        chance, path = self.chance, self.path + '/status'
        schema = self.resource.schema.get('status')
        yield self.made()
        for _ in range(chance.randint(4, 7)):
            made = merged(self.resource.seeds.get('status', {}), {}) if chance.random() < 0.4 else self.mutator.values.value(schema, 'status', 0.02, 1) if schema else {}
            way = chance.choice(['apply', 'apply', 'apply', 'merge', 'strategic', 'put', 'json', 'main'])
            if way == 'apply':
                yield self.applied(chance.choice(['m1', 'm2']), {**self.head, 'status': made}, path, name='apply status')
            elif way == 'put':
                yield Request('put status', 'PUT', path + '?fieldManager=m3', lambda live, made=made: compact({**live, 'status': made, 'metadata': {**live['metadata'], 'labels': {'s': 't'}}}))
            elif way == 'json':
                yield Request('json patch status', 'PATCH', path, compact([{'op': 'add', 'path': '/status', 'value': made}, {'op': 'test', 'path': '/status', 'value': made}]), JSON_PATCH)
            elif way == 'main':
                yield Request('merge patch', 'PATCH', self.path, compact({'status': made, 'metadata': {'labels': {'t': chance.choice(['u', 'v'])}}}), MERGE)
            else:
                yield Request(f'{way} patch status', 'PATCH', self.query(path, dry=0.2), compact({'status': made}), MERGE if way == 'merge' else STRATEGIC)
        yield Request('get status', 'GET', path)

    def by_scales(self):
        chance, path = self.chance, self.path + '/scale'
        yield self.applied('m1', self.configuration(1), dry=0) if chance.random() < 0.6 else self.made()
        head = {'apiVersion': 'autoscaling/v1', 'kind': 'Scale', 'metadata': {'name': self.name, 'namespace': self.namespace}}
        for _ in range(chance.randint(4, 7)):
            count = chance.choice([0, 1, 2, 3, 5])
            way = chance.choice(['apply', 'apply', 'put', 'put live', 'merge', 'json', 'main', 'get'])
            if way == 'apply':
                yield self.applied(chance.choice(['m2', 'm3']), {**head, 'spec': {'replicas': count}}, path, name='apply scale')
            elif way == 'put':
                yield Request('put scale', 'PUT', self.query(path, dry=0.3), compact({**head, 'spec': {'replicas': count}}))
            elif way == 'put live':
                yield Request('put scale of its version', 'PUT', path + '?fieldManager=hpa', lambda live, count=count: compact(merged(head, {'metadata': {'resourceVersion': live['metadata']['resourceVersion'], 'uid': live['metadata']['uid']}, 'spec': {'replicas': count}})))
            elif way == 'merge':
                yield Request('patch scale', 'PATCH', self.query(path, dry=0.2), compact({'spec': {'replicas': count}}), chance.choice([MERGE, STRATEGIC]))
            elif way == 'json':
                yield Request('json patch scale', 'PATCH', path, compact([{'op': 'test', 'path': '/spec/replicas', 'value': chance.choice([count, 1])}, {'op': 'replace', 'path': '/spec/replicas', 'value': count}]), JSON_PATCH)
            elif way == 'main':
                yield self.applied('m1', self.configuration(1))
            else:
                yield Request('get scale', 'GET', path)
            if chance.random() < 0.4:
                yield Request('get', 'GET', self.path)

    def by_deletions(self):
        chance = self.chance
        yield self.made()
        yield Request('finalizers', 'PATCH', self.path, compact({'metadata': {'finalizers': chance.choice([['example.com/f'], ['example.com/f', 'foregroundDeletion'], ['orphan'], []])}}), MERGE)

        for _ in range(chance.randint(4, 7)):
            way = chance.choice(['delete', 'delete', 'delete', 'delete query', 'patch', 'apply', 'put', 'free', 'get', 'status', 'more'])
            if way == 'delete':
                yield Request('delete', 'DELETE', self.path, self.options())
            elif way == 'delete query':
                query = {'gracePeriodSeconds': chance.choice(['0', '3']), 'propagationPolicy': chance.choice(['Background', 'Orphan', 'Foreground'])}
                yield Request('delete', 'DELETE', self.path + '?' + urllib.parse.urlencode(dict(chance.sample(list(query.items()), 1))))
            elif way == 'patch':
                yield Request('merge patch', 'PATCH', self.path, compact({'metadata': {'labels': {'d': chance.choice(['1', '2'])}}}), MERGE)
            elif way == 'apply':
                yield self.applied('m2', self.configuration(0.3))
            elif way == 'put':
                yield Request('put live', 'PUT', self.path, lambda live: compact(merged(live, {'metadata': {'annotations': {'p': 'q'}}})) if isinstance(live, dict) else '{}')
            elif way == 'free':
                yield Request('free', 'PATCH', self.path, compact(chance.choice([{'metadata': {'finalizers': None}}, {'metadata': {'finalizers': ['example.com/f']}}, {'metadata': {'$deleteFromPrimitiveList/finalizers': ['example.com/f']}}])), STRATEGIC)
            elif way == 'more':
                yield Request('more finalizers', 'PATCH', self.path, compact({'metadata': {'finalizers': ['example.com/f', 'example.com/late']}}), MERGE)
            elif way == 'status' and 'status' in self.resource.subresources:
                yield Request('merge patch status', 'PATCH', self.path + '/status', compact({'status': self.resource.seeds.get('status', {}), 'metadata': {'finalizers': None}}), MERGE)
            else:
                yield Request('get', 'GET', self.path)

    def options(self):
        """DeleteOptions; a function of the object as it was answered last."""
        chance = self.chance
        body = {'kind': 'DeleteOptions', 'apiVersion': chance.choice(['v1', 'v1', 'meta.k8s.io/v1', self.resource.group_version, 'policy/v1beta1', 'apps/v1beta1', 'extensions/v1beta1'])}
        if chance.random() < 0.5:
            body['propagationPolicy'] = chance.choice(['Background', 'Foreground', 'Orphan'])
        if chance.random() < 0.4:
            body['gracePeriodSeconds'] = chance.choice([0, 1, 5, 30])
        if chance.random() < 0.2:
            body['dryRun'] = ['All']
        wanted = chance.choice([[], [], [], ['uid'], ['resourceVersion'], ['uid', 'resourceVersion'], ['stale uid', 'resourceVersion']])

        def with_preconditions(live):
            metadata = live.get('metadata', {}) if isinstance(live, dict) else {}
            conditions = {name.split()[-1]: metadata.get(name, 'x') for name in wanted}
            return compact({**body, **({'preconditions': conditions} if conditions else {})})
        return with_preconditions
