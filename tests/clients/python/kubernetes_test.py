"""What programs in Python ask with the official client: typed and dynamic, watches, patches, apply, leases."""
import json
import threading
import time

import pytest
from kubernetes import client, dynamic, utils, watch
from kubernetes.client import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

from conftest import wait_until
from definition import API_VERSION, GROUP, PLURAL, VERSION, define, widget


@pytest.fixture
def core(namespace):
    return client.CoreV1Api()


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


def deployment(name, image='example.com/web:1'):
    labels = {'app': name}
    return client.V1Deployment(
        metadata=client.V1ObjectMeta(name=name, labels=labels),
        spec=client.V1DeploymentSpec(
            replicas=2, selector=client.V1LabelSelector(match_labels=labels),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels=labels),
                spec=client.V1PodSpec(containers=[
                    client.V1Container(name='web', image=image, ports=[client.V1ContainerPort(container_port=80)],
                                       resources=client.V1ResourceRequirements(requests={'cpu': '100m', 'memory': '0.5Gi'}))]))))


def reason(error):
    return json.loads(error.body)['reason']


def test_objects_come_back_as_the_types_say(core, namespace):
    apps = client.AppsV1Api()
    made = apps.create_namespaced_deployment(namespace, deployment('web'))
    assert made.metadata.uid and made.metadata.generation == 1 and made.spec.strategy.type == 'RollingUpdate'
    read = apps.read_namespaced_deployment('web', namespace)
    assert read.spec.template.spec.containers[0].resources.requests == {'cpu': '100m', 'memory': '512Mi'}
    assert read.metadata.creation_timestamp.tzinfo is not None
    # The client sends back all that it read, also what it was given as null.
    assert apps.replace_namespaced_deployment('web', namespace, read).metadata.resource_version == made.metadata.resource_version
    scale = apps.patch_namespaced_deployment_scale('web', namespace, {'spec': {'replicas': 5}})
    assert scale.spec.replicas == 5 and scale.status.selector == 'app=web'
    assert apps.read_namespaced_deployment('web', namespace).metadata.generation == 2


def test_errors_are_statuses(core, namespace):
    with pytest.raises(ApiException) as missing:
        core.read_namespaced_config_map('none', namespace)
    assert missing.value.status == 404 and reason(missing.value) == 'NotFound'
    core.create_namespaced_config_map(namespace, config_map('one', a='1'))
    with pytest.raises(ApiException) as twice:
        core.create_namespaced_config_map(namespace, config_map('one'))
    assert twice.value.status == 409 and reason(twice.value) == 'AlreadyExists'
    first = core.read_namespaced_config_map('one', namespace)
    core.patch_namespaced_config_map('one', namespace, {'data': {'b': '2'}})
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map('one', namespace, first)
    assert stale.value.status == 409 and reason(stale.value) == 'Conflict'
    with pytest.raises(ApiException) as wrong:
        core.create_namespaced_pod(namespace, {'metadata': {'name': 'P'}, 'spec': {'containers': []}})
    assert wrong.value.status == 422
    causes = {cause['field'] for cause in json.loads(wrong.value.body)['details']['causes']}
    assert causes == {'metadata.name', 'spec.containers'}
    with pytest.raises(ApiException) as strict:
        core.create_namespaced_config_map(namespace, {'metadata': {'name': 'strict'}, 'dat': {}}, field_validation='Strict')
    assert strict.value.status == 400 and 'unknown field "dat"' in json.loads(strict.value.body)['message']


def test_every_sort_of_patch(core, namespace):
    apps = client.AppsV1Api()
    apps.create_namespaced_deployment(namespace, deployment('web'))
    # A dictionary goes as a strategic merge patch, a list as a JSON patch.
    merged = apps.patch_namespaced_deployment('web', namespace, {'spec': {'template': {'spec': {'containers': [{'name': 'log', 'image': 'example.com/log:1'}]}}}})
    assert sorted(c.name for c in merged.spec.template.spec.containers) == ['log', 'web']
    patched = apps.patch_namespaced_deployment('web', namespace, [
        {'op': 'test', 'path': '/spec/replicas', 'value': 2}, {'op': 'replace', 'path': '/spec/replicas', 'value': 3}])
    assert patched.spec.replicas == 3
    with pytest.raises(ApiException) as refused:
        apps.patch_namespaced_deployment('web', namespace, [{'op': 'test', 'path': '/spec/replicas', 'value': 2}])
    assert refused.value.status == 422
    applied = core.patch_namespaced_config_map('applied', namespace, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'applied'}, 'data': {'a': '1'}},
                                               field_manager='one', _content_type='application/apply-patch+yaml')
    assert applied.metadata.managed_fields[0].manager == 'one' and applied.metadata.managed_fields[0].operation == 'Apply'
    with pytest.raises(ApiException) as conflict:
        core.patch_namespaced_config_map('applied', namespace, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'data': {'a': '2'}},
                                         field_manager='two', _content_type='application/apply-patch+yaml')
    assert conflict.value.status == 409 and 'conflict with "one"' in json.loads(conflict.value.body)['message']
    forced = core.patch_namespaced_config_map('applied', namespace, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'data': {'a': '2'}},
                                              field_manager='two', force=True, _content_type='application/apply-patch+yaml')
    assert forced.data == {'a': '2'}


def test_watch_sees_changes_and_ends_in_time(core, namespace):
    listed = core.list_namespaced_config_map(namespace)
    for name in ('one', 'two'):
        core.create_namespaced_config_map(namespace, config_map(name, a='1'))
    core.patch_namespaced_config_map('one', namespace, {'metadata': {'labels': {'seen': 'yes'}}})
    core.delete_namespaced_config_map('two', namespace)
    seen = [(event['type'], event['object'].metadata.name) for event in watch.Watch().stream(
        core.list_namespaced_config_map, namespace, resource_version=listed.metadata.resource_version, timeout_seconds=1)]
    assert seen == [('ADDED', 'one'), ('ADDED', 'two'), ('MODIFIED', 'one'), ('DELETED', 'two')]
    labelled = [(event['type'], event['object'].metadata.name) for event in watch.Watch().stream(
        core.list_namespaced_config_map, namespace, label_selector='seen', resource_version=listed.metadata.resource_version, timeout_seconds=1)]
    assert labelled == [('ADDED', 'one')]
    named = [event['object'].metadata.name for event in watch.Watch().stream(
        core.list_namespaced_config_map, namespace, field_selector='metadata.name=one', timeout_seconds=1)]
    assert named == ['one']


def test_watch_from_the_start_says_when_it_has_told_all(core, namespace):
    core.create_namespaced_config_map(namespace, config_map('one'))
    stream = watch.Watch().stream(core.list_namespaced_config_map, namespace, send_initial_events=True, allow_watch_bookmarks=True,
                                  resource_version_match='NotOlderThan', timeout_seconds=5)
    events = [next(stream), next(stream)]
    assert [event['type'] for event in events] == ['ADDED', 'BOOKMARK']
    assert events[1]['raw_object']['metadata']['annotations'] == {'k8s.io/initial-events-end': 'true'}


def test_watch_that_ends_is_started_again(core, namespace):
    """Watch.stream goes on from the last version it saw when a server ends a watch; a writer is at work all the while."""
    wanted = 40

    def write():
        for number in range(wanted):
            client.CoreV1Api().create_namespaced_config_map(namespace, config_map(f'n{number}'))
            time.sleep(0.02)
    writer = threading.Thread(target=write)
    writer.start()
    seen, watcher = [], watch.Watch()
    for event in watcher.stream(core.list_namespaced_config_map, namespace, _request_timeout=30):
        seen.append(event['object'].metadata.name)
        if len(seen) == wanted:
            watcher.stop()
    writer.join()
    assert sorted(seen) == sorted(f'n{number}' for number in range(wanted))


def test_pages(core, namespace):
    for number in range(7):
        core.create_namespaced_config_map(namespace, config_map(f'n{number}'))
    names, token, left = [], None, []
    while token is None or token:
        page = core.list_namespaced_config_map(namespace, limit=3, _continue=token or None)
        names += [item.metadata.name for item in page.items]
        left.append(page.metadata.remaining_item_count)
        token = page.metadata._continue or ''
    assert names == [f'n{number}' for number in range(7)] and left == [4, 1, None]


def test_deletion_of_many_and_waiting_finalizers(core, namespace):
    for name in ('one', 'two'):
        core.create_namespaced_config_map(namespace, {'metadata': {'name': name, 'finalizers': ['example.com/wait'] if name == 'two' else []}})
    core.delete_collection_namespaced_config_map(namespace)
    left = core.list_namespaced_config_map(namespace).items
    assert [item.metadata.name for item in left] == ['two'] and left[0].metadata.deletion_timestamp is not None
    core.patch_namespaced_config_map('two', namespace, [{'op': 'remove', 'path': '/metadata/finalizers'}])
    assert not core.list_namespaced_config_map(namespace).items


def test_custom_objects(core, namespace):
    define()
    custom = client.CustomObjectsApi()
    where = (GROUP, VERSION, namespace, PLURAL)
    made = custom.create_namespaced_custom_object(*where, widget('one', parts=[{'name': 'a'}]))
    assert made['spec'] == {'size': 'small', 'replicas': 1, 'parts': [{'name': 'a'}]}
    # This client sends a dictionary as a merge patch here, for which a list is one value.
    merged = custom.patch_namespaced_custom_object(*where, 'one', {'spec': {'parts': [{'name': 'b'}]}})
    assert merged['spec']['parts'] == [{'name': 'b'}] and merged['metadata']['generation'] == 2
    status = custom.patch_namespaced_custom_object_status(*where, 'one', {'spec': {'size': 'large'}, 'status': {'replicas': 1, 'phase': 'Ready'}})
    assert status['spec']['size'] == 'small' and status['status']['phase'] == 'Ready' and status['metadata']['generation'] == 2
    assert custom.get_namespaced_custom_object_scale(*where, 'one')['status']['replicas'] == 1
    with pytest.raises(ApiException) as refused:
        custom.patch_namespaced_custom_object(*where, 'one', {'spec': {'replicas': 11, 'size': 'huge'}})
    body = json.loads(refused.value.body)
    assert refused.value.status == 422 and {cause['field'] for cause in body['details']['causes']} >= {'spec.size'}
    custom.delete_namespaced_custom_object(*where, 'one', propagation_policy='Foreground')


def test_dynamic_client(core, namespace, tmp_path):
    define()
    found = dynamic.DynamicClient(client.ApiClient(), cache_file=str(tmp_path / 'cache'))
    widgets = found.resources.get(api_version=API_VERSION, kind='Widget')
    assert widgets.namespaced and 'apply' not in widgets.verbs and 'watch' in widgets.verbs and widgets.short_names == ['wd']
    applied = widgets.server_side_apply(body=widget('one', parts=[{'name': 'a', 'colour': 'red'}]), name='one', namespace=namespace, field_manager='one')
    assert applied.spec.parts[0].colour == 'red'
    both = widgets.server_side_apply(body=widget('one', parts=[{'name': 'b'}]), name='one', namespace=namespace, field_manager='two')
    assert [part.name for part in both.spec.parts] == ['a', 'b']
    less = widgets.server_side_apply(body=widget('one', parts=[]), name='one', namespace=namespace, field_manager='one')
    assert [part.name for part in less.spec.parts] == ['b']
    seen = [event['type'] for event in widgets.watch(namespace=namespace, timeout=1)]
    assert seen == ['ADDED']
    assert [item.metadata.name for item in widgets.get(namespace=namespace).items] == ['one']
    widgets.delete(name='one', namespace=namespace)
    assert widgets.get(namespace=namespace).items == []


def test_files_of_several_objects(core, namespace, tmp_path):
    file = tmp_path / 'all.yaml'
    file.write_text('''
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: robot}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
''')
    utils.create_from_yaml(client.ApiClient(), str(file), namespace=namespace)
    assert core.read_namespaced_service('web', namespace).spec.cluster_ip.startswith('10.96.')


def test_token_of_an_account_has_its_rights(core, namespace, kubeconfig):
    core.create_namespaced_service_account(namespace, {'metadata': {'name': 'robot'}})
    rbac = client.RbacAuthorizationV1Api()
    rbac.create_namespaced_role(namespace, {'metadata': {'name': 'reader'}, 'rules': [{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['list']}]})
    rbac.create_namespaced_role_binding(namespace, {
        'metadata': {'name': 'robot'}, 'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'Role', 'name': 'reader'},
        'subjects': [{'kind': 'ServiceAccount', 'name': 'robot', 'namespace': namespace}]})
    token = core.create_namespaced_service_account_token('robot', namespace, client.AuthenticationV1TokenRequest(
        spec=client.V1TokenRequestSpec(audiences=['https://kubernetes.default.svc'], expiration_seconds=3600))).status.token
    admin = client.Configuration.get_default_copy()
    settings = client.Configuration(host=admin.host, api_key={'authorization': 'Bearer ' + token})
    settings.ssl_ca_cert = admin.ssl_ca_cert
    robot = client.ApiClient(settings)
    who = client.AuthenticationV1Api(robot).create_self_subject_review(client.V1SelfSubjectReview())
    assert who.status.user_info.username == f'system:serviceaccount:{namespace}:robot'
    wait_until('the binding counts', lambda: client.AuthorizationV1Api(robot).create_self_subject_access_review({'spec': {'resourceAttributes': {
        'namespace': namespace, 'verb': 'list', 'resource': 'configmaps'}}}).status.allowed)
    assert client.CoreV1Api(robot).list_namespaced_config_map(namespace).items == []
    with pytest.raises(ApiException) as refused:
        client.CoreV1Api(robot).list_namespaced_secret(namespace)
    assert refused.value.status == 403 and reason(refused.value) == 'Forbidden'


def test_eviction_and_binding_and_status(core, namespace):
    core.create_namespaced_pod(namespace, {'metadata': {'name': 'one'}, 'spec': {'containers': [{'name': 'c', 'image': 'example.com/c'}]}})
    core.create_namespaced_binding(namespace, client.V1Binding(metadata=client.V1ObjectMeta(name='one'), target=client.V1ObjectReference(
        kind='Node', name='far')), _preload_content=False)
    assert core.read_namespaced_pod('one', namespace).spec.node_name == 'far'
    core.patch_namespaced_pod_status('one', namespace, {'status': {'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True'}]}})
    running = core.list_namespaced_pod(namespace, field_selector='status.phase=Running,spec.nodeName=far').items
    assert [pod.metadata.name for pod in running] == ['one']
    core.create_namespaced_pod_eviction('one', namespace, client.V1Eviction(metadata=client.V1ObjectMeta(name='one', namespace=namespace),
                                        delete_options=client.V1DeleteOptions(grace_period_seconds=0)))
    assert core.list_namespaced_pod(namespace).items == []


def test_leader_election(core, namespace):
    led = threading.Event()
    election = leaderelection.LeaderElection(electionconfig.Config(
        ConfigMapLock('lock', namespace, 'one'), lease_duration=4, renew_deadline=3, retry_period=1, onstarted_leading=led.set, onstopped_leading=None))
    threading.Thread(target=election.run, daemon=True).start()
    assert led.wait(30)

    def record():
        return json.loads(core.read_namespaced_config_map('lock', namespace).metadata.annotations['control-plane.alpha.kubernetes.io/leader'])
    first = record()
    assert first['holderIdentity'] == 'one'
    wait_until('the lock is renewed', lambda: record()['renewTime'] != first['renewTime'])


def test_version_and_apis(core):
    assert client.VersionApi().get_code().major == '1'
    groups = {group.name for group in client.ApisApi().get_api_versions().groups}
    assert {'apps', 'batch', 'rbac.authorization.k8s.io', 'apiextensions.k8s.io'} <= groups
