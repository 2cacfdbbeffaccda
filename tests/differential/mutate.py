"""Small changes of an object: one field given, taken, doubled, of another type, out of range."""
import copy

import values

METADATA = {
    'labels': values.LABELS + values.ODD_LABELS,
    'annotations': [{}, {'a': 'b'}, {'bad key': 'x'}, {'UPPER.com/X': 'y'}, {'a': ''}, {'a/b/c': ''}, {'': ''}, {values.VERY_LONG + '/x': 'y'}, {'a': 5}],
    'finalizers': [[], ['example.com/f'], ['x'], [''], ['a/b/c'], ['orphan'], ['foregroundDeletion'], ['orphan', 'foregroundDeletion'],
                   ['example.com/f', 'example.com/f'], ['kubernetes'], ['Bad Name/x']],
    'ownerReferences': [[], [{'apiVersion': 'v1', 'kind': 'Node', 'name': 'n', 'uid': 'u'}], [{}], [{'apiVersion': 'v1', 'kind': 'Event', 'name': 'n', 'uid': 'u'}],
                        [{'apiVersion': 'a/b/c', 'kind': 'X', 'name': '', 'uid': ''}],
                        [{'apiVersion': 'v1', 'kind': 'A', 'name': 'n', 'uid': 'u', 'controller': True}, {'apiVersion': 'v1', 'kind': 'B', 'name': 'n', 'uid': 'v', 'controller': True}],
                        [{'apiVersion': 'v1', 'kind': 'A', 'name': 'n', 'uid': 'u'}, {'apiVersion': 'v1', 'kind': 'A', 'name': 'n', 'uid': 'u'}],
                        [{'apiVersion': 'v1', 'kind': 'A', 'name': 'n', 'uid': 'u', 'blockOwnerDeletion': True}, {'apiVersion': 'v1', 'kind': 'B', 'name': 'n', 'uid': 'u'}]],
    'generateName': ['g-', '', 'Bad_', values.VERY_LONG, 'x' * 62],
    'name': ['', 'Bad_Name', 'a.b', 'a..b', '-x', values.LONG, values.VERY_LONG, 'x:y', 'a/b', '..', 'a%b', '1a', 5],
    'namespace': ['', 'other', 'default', 5],
    'uid': ['', 'x', 'aaaaaaaa-0000-4000-8000-000000000001'],
    'resourceVersion': ['', '0', '1', 'x', '-1', 5],
    'generation': [0, 5, -1],
    'creationTimestamp': [None, '2020-01-01T00:00:00Z', 'x'],
    'deletionTimestamp': [None, '2020-01-01T00:00:00Z'],
    'deletionGracePeriodSeconds': [0, 5, -1],
    'selfLink': ['/x'],
    'managedFields': [[], [{}], None, [{'manager': 'm', 'operation': 'Update', 'apiVersion': 'v1', 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:metadata': {}}}],
                      [{'manager': 'm', 'operation': 'Bogus'}]],
}


class Mutator:
    def __init__(self, chance):
        self.chance, self.values = chance, values.Values(chance)

    def mutated(self, body, schema, count=None):
        """A copy with one to three changes."""
        body = copy.deepcopy(body)
        for _ in range(count or self.chance.choice([1, 1, 1, 2, 2, 3])):
            self.change(body, schema)
        return body

    def change(self, body, schema):
        if self.chance.random() < 0.12:
            return self.change_metadata(body)
        holder, name, of = self.place(body, schema)
        self.change_at(holder, name, of)

    def change_metadata(self, body):
        metadata = body.setdefault('metadata', {})
        if not isinstance(metadata, dict):
            return
        name = self.chance.choice(list(METADATA))
        metadata[name] = copy.deepcopy(self.chance.choice(METADATA[name]))

    def place(self, body, schema):
        """(holder, name or index, schema of what is there): a random walk down from the top."""
        chance, holder, of = self.chance, body, schema
        depth = 0
        while True:
            kind = of.type
            if isinstance(holder, dict) and kind == 'object':
                known = [name for name in of.properties if depth > 0 or name not in ('metadata', 'status', 'kind', 'apiVersion')]
                present = [name for name in known if name in holder]
                name = chance.choice(present) if present and chance.random() < 0.7 else chance.choice(known or ['x'])
                below = of.get(name)
            elif isinstance(holder, dict):
                name = chance.choice(list(holder) + ['new']) if holder else 'new'
                below = of.element()
            elif isinstance(holder, list):
                if not holder:
                    holder.append(None)
                name = chance.randrange(len(holder))
                below = of.element()
            value = holder.get(name) if isinstance(holder, dict) else holder[name]
            stop = not isinstance(value, (dict, list)) or not value or below is None
            if stop or (depth >= 1 and chance.random() < 0.25):
                return holder, name, below
            holder, of, depth = value, below, depth + 1

    def change_at(self, holder, name, of):
        chance = self.chance
        there = isinstance(holder, list) or name in holder
        ways = ['give', 'give', 'odd', 'odd', 'wrong', 'null', 'unknown']
        if there:
            ways += ['take', 'take', 'double', 'empty', 'grow']
        way = chance.choice(ways)
        label = name if isinstance(name, str) else ''
        value = holder[name] if there else None
        if way == 'take':
            del holder[name]
        elif way == 'null':
            holder[name] = None
        elif way == 'wrong':
            holder[name] = self.values.of_wrong_type()
        elif way == 'empty':
            holder[name] = {dict: {}, list: [], str: '', int: 0}.get(type(value), '')
        elif way == 'double' and isinstance(holder, list):
            holder.insert(name, copy.deepcopy(value))
        elif way in ('double', 'grow') and isinstance(value, list) and of is not None:
            value.append(copy.deepcopy(chance.choice(value)) if way == 'double' and value else self.values.value(of.element(), label, 0.1, 2))
        elif way == 'unknown' and isinstance(value, dict):
            value[chance.choice(['bogus', 'nothing', 'Kind'])] = chance.choice([1, 'x', {}, None])
        elif of is not None:
            holder[name] = self.values.value(of, label, 0.05 if way == 'give' else 0.7, 2)
        else:
            holder[name] = self.values.of_wrong_type()


def merge_patch(old, new):
    """The JSON merge patch (RFC 7386) that makes one of the other."""
    patch = {}
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            patch[name] = None
        elif name not in old or type(old[name]) is not type(new[name]):
            patch[name] = new[name]
        elif isinstance(new[name], dict):
            below = merge_patch(old[name], new[name])
            if below:
                patch[name] = below
        elif old[name] != new[name]:
            patch[name] = new[name]
    return patch


def pointers(value, at=''):
    """The JSON pointers into a value."""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in items:
        yield from pointers(member, f"{at}/{str(name).replace('~', '~0').replace('/', '~1')}")
