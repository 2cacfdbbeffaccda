"""Reads the scenario files: plain lists of steps, and `crud` blocks that stand for the usual walk over one kind."""
import pathlib
import re

import yaml

TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'


class ScenarioLoader(yaml.SafeLoader):
    """YAML in which times stay text and only true and false are booleans, as JSON has it."""


def _plain_scalars():
    kept = {}
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items():
        kept[first] = [rule for rule in rules if rule[0].rsplit(':', 1)[1] not in ('timestamp', 'bool')]
    return kept


ScenarioLoader.yaml_implicit_resolvers = _plain_scalars()
ScenarioLoader.add_implicit_resolver('tag:yaml.org,2002:bool', re.compile(r'^(?:true|false)$'), ['t', 'f'])


def load(folder):
    """Every scenario of the folder's *.yaml, files by name and scenarios as they stand in them."""
    scenarios = {}
    for file in sorted(pathlib.Path(folder).glob('*.yaml')):
        for document in yaml.load_all(file.read_text(), ScenarioLoader):
            if not document:
                continue
            if document['name'] in scenarios:
                raise ValueError(f"{file}: a second scenario is named {document['name']}")
            scenarios[document['name']] = _expand(document)
    return list(scenarios.values())


def label(number, step):
    """How a step is called in recorded answers, in output and in pending.txt; counted from 1."""
    return f"{number:02d} {step.get('name') or step.get('do') or 'wait'}"


def answers(step):
    """Whether the step has an answer to compare: pauses and the start of a background watch have none."""
    return 'sleep' not in step and not ('watch' in step and step.get('id'))


def merge(target, patch):
    """A merge patch (RFC 7386): null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def _expand(document):
    if 'crud' not in document:
        return document
    walk = _Walk(document['crud']).steps()
    steps = walk + document.get('steps', [])
    cleanup = list(document.get('cleanup', []))
    if document.get('namespace', True) is False:
        # No namespace takes these objects along when the scenario ends.
        for step in steps:
            if step['do'].startswith('POST') and 'dryRun' not in step['do']:
                cleanup.append(f"DELETE {document['crud']['path']}/{step['body']['metadata']['name']}")
    return {**document, 'steps': steps, 'cleanup': cleanup}


class _Walk:
    """The steps of a crud block: create, read, update, patch, refuse, delete."""

    def __init__(self, block):
        self.block = block
        self.path = block['path']
        prefix = '' if '/namespaces/${ns}/' in self.path else '${ns}-'
        names = block.get('names', [prefix + 'min', prefix + 'rich', prefix + 'min-ssa'])
        self.small_name, self.rich_name, self.applied_name = names
        version, kind = block['kind'].split()
        head = {'apiVersion': version, 'kind': kind}
        self.small = merge({**head, 'metadata': {'name': self.small_name}}, block.get('minimal', {}))
        self.rich = merge({**head, 'metadata': {'name': self.rich_name, 'labels': {'corpus': '${ns}'}}}, block.get('rich', {}))
        self.list = []

    def add(self, name, request, **more):
        self.list.append({'drop': self.block.get('drop', []), **more, 'name': name, 'do': request})

    def small_with(self, name, more):
        return merge(merge(self.small, {'metadata': {'name': name}}), more)

    def steps(self):
        self.reads_and_creates()
        self.updates()
        self.refusals()
        self.deletes()
        return self.list

    def reads_and_creates(self):
        path, one = self.path, f'{self.path}/{self.rich_name}'
        table = {'headers': {'Accept': TABLE}, 'drop': self.block.get('dropTable', [])}
        self.add('create minimal', f'POST {path}', body=self.small)
        self.add('create rich', f'POST {path}', body=self.rich, managedFields=True)
        self.add('create again', f'POST {path}', body=self.rich)
        self.add('get', f'GET {one}')
        self.add('list', f'GET {path}?labelSelector=corpus%3D${{ns}}')
        self.add('table of list', f'GET {path}?labelSelector=corpus%3D${{ns}}', **table)
        self.add('table of one', f'GET {one}?includeObject=None', **table)

    def updates(self):
        block, one = self.block, f'{self.path}/{self.rich_name}'
        put = merge(self.rich, block.get('update', {'metadata': {'annotations': {'updated': 'by-put'}}}))
        self.add('put without resourceVersion', f'PUT {one}', body=put)
        if block.get('rvput', True):
            self.list.append({'name': 'fetch for put', 'do': f'GET {one}', 'record': 'code',
                              'capture': {'putrv': 'metadata.resourceVersion'}})
            again = {'metadata': {'resourceVersion': '${putrv}', 'annotations': {'put': 'second'}}}
            self.add('put with resourceVersion', f'PUT {one}', body=merge(put, again))
        self.add('merge patch', f'PATCH {one}', patch='merge', managedFields=True,
                 body=block.get('patch', {'metadata': {'annotations': {'patched': 'merge'}}}))
        if 'status' in block:
            self.add('patch status', f'PATCH {one}/status', patch='merge', body={'status': block['status']},
                     drop=block.get('dropStatus', []))
        self.add('get status', f'GET {one}/status')
        self.add('apply, dry run', f'PATCH {self.path}/{self.applied_name}?fieldManager=corpus&dryRun=All', patch='apply',
                 managedFields=True, body=merge(self.small, {'metadata': {'name': self.applied_name}}))

    def refusals(self):
        self.add('strict unknown field', f'POST {self.path}?fieldValidation=Strict&dryRun=All',
                 body=self.small_with(f'{self.small_name}-x', {'bogus': 1}))
        for number, odd in enumerate(self.block.get('invalid', []), 1):
            self.add(f'odd input {number}', f'POST {self.path}', body=self.small_with(f'{self.small_name}-bad{number}', odd))
        for number, change in enumerate(self.block.get('immutable', []), 1):
            self.add(f'refused update {number}', f'PATCH {self.path}/{self.rich_name}', patch='merge', body=change)

    def deletes(self):
        self.add('delete minimal', f'DELETE {self.path}/{self.small_name}')
        self.add('delete collection', f'DELETE {self.path}?labelSelector=corpus%3D${{ns}}')
        if self.block.get('gone', True):
            self.add('get after delete', f'GET {self.path}/{self.rich_name}')
