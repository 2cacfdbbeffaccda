"""A release of a chart from its installation to its end, with hooks and a definition, as people use Helm; helm is looked for on PATH."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest
from kubernetes import client, config, dynamic

from conftest import wait_until

CHART = pathlib.Path(__file__).with_name('chart')
HELM = shutil.which('helm')
pytestmark = pytest.mark.skipif(not HELM, reason='there is no helm')


def end_jobs_and_pods(namespace, stopping):
    """What controllers and a node would do here: every job completes, every pod succeeds, what waits for its dependents goes."""
    batch, core = client.BatchV1Api(), client.CoreV1Api()
    time = '2026-01-02T03:04:05Z'
    while not stopping.wait(0.1):
        for job in batch.list_namespaced_job(namespace).items:
            name = job.metadata.name
            if job.metadata.deletion_timestamp:
                batch.patch_namespaced_job(name, namespace, {'metadata': {'finalizers': None}})
            elif not job.status.completion_time:
                batch.patch_namespaced_job_status(name, namespace, {'status': {
                    'startTime': time, 'completionTime': time, 'succeeded': 1, 'uncountedTerminatedPods': {}, 'conditions': [
                        {'type': kind, 'status': 'True', 'lastTransitionTime': time} for kind in ('SuccessCriteriaMet', 'Complete')]}})
        for pod in core.list_namespaced_pod(namespace, field_selector='status.phase=Pending').items:
            core.patch_namespaced_pod_status(pod.metadata.name, namespace, {'status': {'phase': 'Succeeded'}})


class Release:
    def __init__(self, namespace, folder, kubeconfig):
        self.namespace = namespace
        self.env = dict(os.environ, KUBECONFIG=str(kubeconfig), HELM_CACHE_HOME=str(folder / 'cache'), HELM_CONFIG_HOME=str(folder / 'config'),
                        HELM_DATA_HOME=str(folder / 'data'))

    def helm(self, *words, fails=False):
        done = subprocess.run([HELM, '--namespace', self.namespace, *words], env=self.env, capture_output=True, text=True)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    def json(self, *words):
        return json.loads(self.helm(*words, '-o', 'json'))

    def names(self, kind, api_version):
        found = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=api_version, kind=kind).get(namespace=self.namespace)
        return sorted(item.metadata.name for item in found.items)


@pytest.fixture
def release(namespace, tmp_path, kubeconfig):
    config.load_kube_config(str(kubeconfig))
    stopping = threading.Event()
    ender = threading.Thread(target=end_jobs_and_pods, args=(namespace, stopping))
    ender.start()
    yield Release(namespace, tmp_path, kubeconfig)
    stopping.set()
    ender.join()


@pytest.fixture
def installed(release):
    release.helm('install', 'one', str(CHART), '--wait-for-jobs', '--timeout', '60s')
    return release


def test_install_makes_all_and_runs_hooks(installed):
    status = installed.json('status', 'one')
    assert status['info']['status'] == 'deployed' and 'gadgets=true' in status['info']['notes'] and 'lookup=default' in status['info']['notes']
    assert [item['name'] for item in installed.json('list')] == ['one']
    assert installed.names('Gadget', 'helm.example.com/v1') == ['one']
    # The job is kept until the next one, what was only for the hook is gone.
    assert installed.names('Job', 'batch/v1') == ['one-prepare']
    assert installed.names('ConfigMap', 'v1') == ['one-kept', 'one-settings']
    assert installed.names('Secret', 'v1') == ['sh.helm.release.v1.one.v1']
    installed.helm('test', 'one', '--timeout', '60s')


def test_install_of_what_is_there_is_refused(installed):
    assert re.search('cannot re-?use a name that is still in use', installed.helm('install', 'one', str(CHART), fails=True))
    assert 'invalid ownership metadata' in installed.helm('install', 'two', str(CHART), '--no-hooks', '--set', 'name=one', fails=True)


def test_dry_run_on_the_server(release):
    rendered = release.helm('install', 'one', str(CHART), '--dry-run=server')
    assert 'lookup=default' in rendered
    assert release.names('Deployment', 'apps/v1') == []


def test_upgrade_changes_what_differs(installed):
    apps = client.AppsV1Api()
    first = apps.read_namespaced_deployment('one', installed.namespace)
    # What another writer added stays, since Helm's patch has only what its charts say.
    apps.patch_namespaced_deployment('one', installed.namespace, {'spec': {'template': {'spec': {'containers': [{'name': 'other', 'image': 'example.com/other:1'}]}}}})
    installed.helm('upgrade', 'one', str(CHART), '--set', 'replicas=3,message=bye,extra=false', '--timeout', '60s')
    second = apps.read_namespaced_deployment('one', installed.namespace)
    assert second.metadata.uid == first.metadata.uid and second.spec.replicas == 3
    assert sorted(c.name for c in second.spec.template.spec.containers) == ['other', 'web']
    assert client.CustomObjectsApi().get_namespaced_custom_object('helm.example.com', 'v1', installed.namespace, 'gadgets', 'one')['spec']['tags'] == ['a', 'bye']
    assert 'one-extra' not in installed.names('Service', 'v1')


def test_rollback(installed):
    installed.helm('upgrade', 'one', str(CHART), '--set', 'replicas=3,extra=false')
    installed.helm('rollback', 'one', '1', '--timeout', '60s')
    assert client.AppsV1Api().read_namespaced_deployment('one', installed.namespace).spec.replicas == 2
    assert installed.names('Service', 'v1') == ['one', 'one-extra']
    assert [(item['revision'], item['status']) for item in installed.json('history', 'one')] == [(1, 'superseded'), (2, 'superseded'), (3, 'deployed')]


def test_upgrade_that_fails_goes_back(release):
    # Helm waits for deployments here, which no controller takes care of.
    release.helm('install', 'one', str(CHART), '--set', 'web=false', '--timeout', '60s')
    said = release.helm('upgrade', 'one', str(CHART), '--set', 'web=false,broken=true,message=bye', '--atomic', '--timeout', '60s', fails=True)
    assert 'spec.ports[0].port: Invalid value: 99999' in said
    assert client.CoreV1Api().read_namespaced_config_map('one-settings', release.namespace).data == {'message': 'hello'}
    assert [item['status'] for item in release.json('history', 'one')] == ['superseded', 'failed', 'deployed']


def test_objects_that_were_there_are_taken_over(release):
    client.CoreV1Api().create_namespaced_config_map(release.namespace, {'metadata': {'name': 'one-settings'}, 'data': {'message': 'old', 'other': 'kept'}})
    assert 'exists and cannot be imported' in release.helm('install', 'one', str(CHART), fails=True)
    # Helm 4 applies on the server, where the field has an owner.
    force = ['--force-conflicts'] if release.helm('version', '--short').startswith('v4') else []
    release.helm('install', 'one', str(CHART), '--take-ownership', *force, '--timeout', '60s')
    assert client.CoreV1Api().read_namespaced_config_map('one-settings', release.namespace).data['message'] == 'hello'


def test_release_kept_in_config_maps(release):
    release.env['HELM_DRIVER'] = 'configmap'
    release.helm('install', 'one', str(CHART), '--timeout', '60s')
    assert [item['name'] for item in release.json('list')] == ['one']
    release.helm('uninstall', 'one', '--timeout', '60s')
    assert release.json('list') == []


def test_uninstall_leaves_what_is_to_be_kept(installed):
    said = installed.helm('uninstall', 'one', '--timeout', '60s')
    assert 'one-kept' in said
    assert installed.names('ConfigMap', 'v1') == ['one-kept']
    wait_until('all else is gone', lambda: not any(installed.names(*kind) for kind in (
        ('Deployment', 'apps/v1'), ('Service', 'v1'), ('Secret', 'v1'), ('ServiceAccount', 'v1'), ('Gadget', 'helm.example.com/v1'))))
    # Definitions of charts outlive them.
    assert client.ApiextensionsV1Api().read_custom_resource_definition('gadgets.helm.example.com')
