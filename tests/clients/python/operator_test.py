"""An operator written with kopf, run as `kopf run` runs it, and what becomes of its objects."""
import json
import os
import pathlib
import subprocess

import pytest
from kopf.testing import KopfRunner
from kubernetes import client, config

from conftest import wait_until
from definition import GROUP, PLURAL, VERSION, define, widget

OPERATOR = pathlib.Path(__file__).with_name('operator_of_widgets.py')
FINALIZER = 'example.com/widget-operator'


class Widgets:
    def __init__(self, namespace):
        self.where = (GROUP, VERSION, namespace, PLURAL)
        self.api = client.CustomObjectsApi()

    def create(self, name, labels=None, **spec):
        body = widget(name, **spec)
        body['metadata']['labels'] = labels or {}
        return self.api.create_namespaced_custom_object(*self.where, body)

    def get(self, name):
        return self.api.get_namespaced_custom_object(*self.where, name)

    def patch(self, name, body):
        return self.api.patch_namespaced_custom_object(*self.where, name, body)

    def delete(self, name):
        return self.api.delete_namespaced_custom_object(*self.where, name)

    def gone(self, name):
        return all(item['metadata']['name'] != name for item in self.api.list_namespaced_custom_object(*self.where)['items'])

    def status(self, name, member):
        """A member of its status, once it is there."""
        return wait_until(f'status.{member} of {name}', lambda: self.get(name).get('status', {}).get(member))


@pytest.fixture(scope='module')
def running(kubeconfig, tmp_path_factory):
    config.load_kube_config(str(kubeconfig))
    define()
    certificates = tmp_path_factory.mktemp('certificates')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', certificates / 'tls.key', '-out', certificates / 'tls.crt', '-days', '2',
                    '-subj', '/CN=operator', '-addext', 'subjectAltName=IP:127.0.0.1'], check=True, capture_output=True)
    # The operator runs in a thread of this process, and so reads this environment.
    os.environ['OPERATOR_CERTIFICATES'] = str(certificates)
    with KopfRunner(['run', '--all-namespaces', str(OPERATOR)], timeout=30) as runner:
        hooks = client.AdmissionregistrationV1Api()
        wait_until('the webhooks are there', lambda: hooks.list_validating_webhook_configuration().items and hooks.list_mutating_webhook_configuration().items
                   and hooks.list_mutating_webhook_configuration().items[0].webhooks)
        yield runner
    assert runner.exit_code == 0 and runner.exception is None, runner.output
    assert 'Traceback' not in runner.output, runner.output


@pytest.fixture
def widgets(running, namespace):
    return Widgets(namespace)


@pytest.fixture
def core(widgets):
    return client.CoreV1Api()


def test_creation_is_handled_once_and_noted(widgets, core, namespace):
    made = widgets.create('one', size='large', replicas=3)
    assert widgets.status('one', 'create') == {'child': 'one-child'}
    assert widgets.status('one', 'twice') == {'tries': 2}
    found = widgets.get('one')
    assert found['metadata']['finalizers'] == [FINALIZER] and found['status']['replicas'] == 3
    assert found['metadata']['generation'] == made['metadata']['generation']
    child = core.read_namespaced_config_map('one-child', namespace)
    assert child.data == {'size': 'large'} and child.metadata.owner_references[0].uid == made['metadata']['uid'] and child.metadata.owner_references[0].controller
    wait_until('an event is told', lambda: [e for e in core.list_namespaced_event(namespace, field_selector='reason=Made').items if e.involved_object.name == 'one'])


def test_change_of_a_field_is_handled(widgets, core, namespace):
    widgets.create('one')
    widgets.status('one', 'create')
    wait_until('what was handled is noted', lambda: 'example.com/last-handled-configuration' in widgets.get('one')['metadata'].get('annotations', {}))
    widgets.patch('one', {'spec': {'size': 'large'}})
    assert widgets.status('one', 'resize/spec.size') == {'from': 'small', 'to': 'large'}
    assert core.read_namespaced_config_map('one-child', namespace).data == {'size': 'large', 'before': 'small'}


def test_deletion_waits_for_its_handler(widgets, core, namespace):
    widgets.create('one')
    widgets.status('one', 'create')
    widgets.delete('one')
    wait_until('it is gone', lambda: widgets.gone('one'))
    assert not [item for item in core.list_namespaced_config_map(namespace).items if item.metadata.name == 'one-child']


def test_timer_goes_on_until_its_label_goes(widgets):
    widgets.create('one', labels={'timed': ''})
    wait_until('three ticks', lambda: widgets.status('one', 'ticks') >= 3)
    widgets.patch('one', {'metadata': {'labels': {'timed': None}}})


def test_daemon_ends_with_its_object(widgets):
    widgets.create('one', labels={'watched': ''})
    assert widgets.status('one', 'attended') is True
    assert widgets.status('one', 'twice')
    widgets.delete('one')
    wait_until('it is gone', lambda: widgets.gone('one'))


def test_events_of_built_in_kinds_with_an_index(widgets, core, namespace):
    widgets.create('big', size='large')
    widgets.status('big', 'create')
    core.create_namespaced_config_map(namespace, {'metadata': {'name': 'list', 'labels': {'listed': ''}}})
    wait_until('the handler wrote', lambda: 'big' in (core.read_namespaced_config_map('list', namespace).data or {}).get('large', '').split())


def test_field_of_a_built_in_kind(widgets, core, namespace):
    core.create_namespaced_config_map(namespace, {'metadata': {'name': 'one', 'labels': {'field': ''}}, 'data': {'followed': 'a'}})

    def says(text):
        return (core.read_namespaced_config_map('one', namespace).metadata.annotations or {}).get('example.com/followed') == text
    wait_until('the first value', lambda: says('a'))
    core.patch_namespaced_config_map('one', namespace, {'data': {'followed': 'b'}})
    wait_until('the second value', lambda: says('b'))


def test_definition_that_comes_later_is_watched(widgets, core, namespace):
    """kopf looks at definitions all the time, and takes up kinds that come and go."""
    extensions = client.ApiextensionsV1Api()
    extensions.create_custom_resource_definition({
        'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': 'gears.example.com'},
        'spec': {'group': 'example.com', 'scope': 'Namespaced', 'names': {'plural': 'gears', 'kind': 'Gear'},
                 'versions': [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}]}})
    widgets.create('one')
    assert widgets.status('one', 'create')
    extensions.delete_custom_resource_definition('gears.example.com')
    widgets.create('two')
    assert widgets.status('two', 'create')


def test_webhook_refuses_and_warns(widgets):
    with pytest.raises(client.ApiException) as refused:
        widgets.create('one', replicas=7)
    assert refused.value.status == 409
    assert json.loads(refused.value.body)['message'] == 'admission webhook "check.widgets.example.com" denied the request: seven is not to be had'
    made, code, headers = widgets.api.create_namespaced_custom_object_with_http_info(*widgets.where, widget('two', replicas=8))
    assert code == 201 and headers['Warning'] == '299 - "eight is a lot"'
    with pytest.raises(client.ApiException):
        widgets.patch('two', {'spec': {'replicas': 7}})


def test_webhook_changes_what_is_made(widgets):
    assert widgets.create('one')['metadata']['annotations']['example.com/marked'] == 'wet'
    dry = widgets.api.create_namespaced_custom_object(*widgets.where, widget('two'), dry_run='All')
    assert dry['metadata']['annotations']['example.com/marked'] == 'dry' and widgets.gone('two')
