#!/usr/bin/env python3
"""Definitions that others have written: they install, are served and explained, and their kinds take and refuse what a real API
server does.

    real_definitions.py KUBECONFIG KUBECTL FOLDER...            holds the answers against real_definitions/recorded.json
    real_definitions.py --record KUBECONFIG KUBECTL FOLDER...   writes that file; against a real API server

The folders have the definitions as YAML. The last line is "N passed, M failed". Needs PyYAML.
"""
import base64
import copy
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import time

import yaml

HERE = pathlib.Path(__file__).resolve().parent / 'real_definitions'
RECORDED = HERE / 'recorded.json'
DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
NAMESPACE = 'real-definitions'


class Loader(getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):
    """Reads a bare = as the text that it is."""


Loader.add_constructor('tag:yaml.org,2002:value', lambda loader, node: loader.construct_scalar(node))


class Server:
    """One connection to the server of a kubeconfig, as its user."""

    def __init__(self, kubeconfig):
        config = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
        cluster, user = config['clusters'][0]['cluster'], config['users'][0]['user']
        context = ssl._create_unverified_context()
        with tempfile.TemporaryDirectory() as folder:
            pair = [f'{folder}/crt', f'{folder}/key']
            for path, name in zip(pair, ('client-certificate', 'client-key')):
                data = base64.b64decode(user[name + '-data']) if name + '-data' in user else pathlib.Path(user[name]).read_bytes()
                pathlib.Path(path).write_bytes(data)
            context.load_cert_chain(*pair)
        self.connection = http.client.HTTPSConnection(cluster['server'].split('//')[1], context=context)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body), {'Content-Type': 'application/json'})
        answer = self.connection.getresponse()
        text = answer.read()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode()


def patched(object_, patch):
    """The object after JSON patch operations of add and remove; members on the way must be there."""
    object_ = copy.deepcopy(object_)
    for operation in patch:
        *way, last = operation['path'].strip('/').split('/')
        place = object_
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        if isinstance(place, list):
            if last == '-':
                place.append(operation['value'])
            else:
                place[int(last)] = operation['value']
        elif operation['op'] == 'remove':
            del place[last]
        else:
            place[last] = operation['value']
    return object_


def shown(answer):
    """What of an answer must be the same everywhere."""
    code, body = answer
    if code >= 400:
        if isinstance(body, dict) and isinstance(body.get('details'), dict):
            causes = sorted(json.dumps(cause, sort_keys=True) for cause in body['details'].get('causes', []))
            return {'code': code, 'reason': body.get('reason'), 'message': None if len(causes) > 1 else body['message'], 'causes': causes}
        return {'code': code, 'body': body}
    body = copy.deepcopy(body)
    for name in ('uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'selfLink'):
        body.get('metadata', {}).pop(name, None)
    return {'code': code, 'body': body}


def install(server, folders, problems):
    """Creates every definition and waits until it is served."""
    installed = []
    for path in sorted(path for folder in folders for path in pathlib.Path(folder).glob('*.yaml')):
        for document in yaml.load_all(path.read_text(), Loader=Loader):
            if not document or document.get('kind') != 'CustomResourceDefinition':
                continue
            code, body = server.ask('POST', DEFINITIONS, json.loads(json.dumps(document, default=str)))
            name = document['metadata']['name']
            if code not in (201, 409):
                problems.append((f'install {name}', f'{code}: {str(body)[:500]}'))
                continue
            installed.append(document)
    for document in installed:
        spec = document['spec']
        for version in spec['versions']:
            for _ in range(100):
                code, _body = server.ask('GET', f'/apis/{spec["group"]}/{version["name"]}/{spec["names"]["plural"]}')
                if code == 200 or not version['served']:
                    break
                time.sleep(0.1)
            else:
                problems.append((f'serve {document["metadata"]["name"]}', f'{version["name"]}: {code}'))
    return installed


def explain(kubectl, kubeconfig, document):
    spec = document['spec']
    version = next(version['name'] for version in spec['versions'] if version['served'])
    done = subprocess.run([kubectl, '--kubeconfig', kubeconfig, 'explain', '--recursive', f'--api-version={spec["group"]}/{version}',
                           spec["names"]["plural"]], capture_output=True, text=True)
    kind = re.search(r'^KIND: +(\S+)', done.stdout, re.M)
    return done.returncode == 0 and kind is not None and kind[1] == spec['names']['kind'], done.stderr or done.stdout[:300]


def try_objects(server):
    """What the server answers to each object and its faults, by the names of the steps."""
    server.ask('POST', '/api/v1/namespaces', {'metadata': {'name': NAMESPACE}})
    kinds, answers = {}, {}
    for entry in yaml.safe_load((HERE / 'objects.yaml').read_text()):
        group, version, plural = entry['resource'].split('/')
        _code, listed = server.ask('GET', f'/apis/{group}/{version}')
        kinds = {resource['name']: resource for resource in listed.get('resources', [])} if isinstance(listed, dict) else {}
        if plural not in kinds:
            answers[f'{entry["resource"]} valid'] = {'code': 404}
            continue
        place = f'namespaces/{NAMESPACE}/' if kinds[plural]['namespaced'] else ''
        url = f'/apis/{group}/{version}/{place}{plural}'
        valid = {'apiVersion': f'{group}/{version}', 'kind': kinds[plural]['kind'], 'metadata': {'name': 'x'}} | entry['valid']
        server.ask('DELETE', f'{url}/x')
        answers[f'{entry["resource"]} valid'] = shown(server.ask('POST', url, valid))
        for number, patch in enumerate(entry['faults']):
            bad = patched(valid, patch)
            bad['metadata']['name'] = f'bad-{number}'
            answers[f'{entry["resource"]} fault {number}'] = shown(server.ask('POST', url + '?fieldValidation=Strict', bad))
    return answers


def main():
    record = sys.argv[1] == '--record'
    kubeconfig, kubectl, *folders = sys.argv[2 if record else 1:]
    server = Server(kubeconfig)
    problems, passed = [], 0
    began = time.time()
    installed = install(server, folders, problems)
    print(f'{len(installed)} definitions in {time.time() - began:.1f} s', flush=True)
    passed += len(installed)
    if not record:
        for document in installed:
            well, text = explain(kubectl, kubeconfig, document)
            if well:
                passed += 1
            else:
                problems.append((f'explain {document["metadata"]["name"]}', text))
    answers = try_objects(Server(kubeconfig))  # the first connection may have been idle for too long
    if record:
        RECORDED.write_text(json.dumps(answers, indent=1, sort_keys=True) + '\n')
        print(f'{len(answers)} answers recorded')
        return
    groups = {document['spec']['group'] for document in installed}
    for name, wanted in json.loads(RECORDED.read_text()).items():
        if name.split('/')[0] not in groups:
            continue
        if answers.get(name) == wanted:
            passed += 1
        else:
            problems.append((name, f'recorded {json.dumps(wanted)[:700]}\n      got      {json.dumps(answers.get(name))[:700]}'))
    for name, text in problems:
        print(f'FAIL  {name}\n      {text}')
    print(f'{passed} passed, {len(problems)} failed')
    sys.exit(1 if problems else 0)


main()
