"""An operator as its users write them with kopf: handlers for everything that happens to a widget. operator_test.py runs it."""
import asyncio
import os

import kopf
import kubernetes


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = True
    settings.persistence.finalizer = 'example.com/widget-operator'
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix='example.com')
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix='example.com')
    settings.peering.standalone = True
    certificates = os.environ['OPERATOR_CERTIFICATES']
    settings.admission.managed = 'widgets.example.com'
    settings.admission.server = kopf.WebhookServer(addr='127.0.0.1', host='127.0.0.1', certfile=f'{certificates}/tls.crt',
                                                   pkeyfile=f'{certificates}/tls.key', cafile=f'{certificates}/tls.crt')


@kopf.on.login()
def login(**kwargs):
    # The official client looks at the environment only when it is loaded.
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.create('example.com', 'v1', 'widgets')
def create(body, spec, meta, namespace, patch, **_):
    child = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': meta['name'] + '-child'}, 'data': {'size': spec['size']}}
    kopf.adopt(child)
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, child)
    patch.status['replicas'] = spec['replicas']
    kopf.info(body, reason='Made', message='a child was made')
    return {'child': child['metadata']['name']}


@kopf.on.create('example.com', 'v1', 'widgets', id='twice', backoff=0.2)
def create_in_two_goes(retry, **_):
    if retry == 0:
        raise kopf.TemporaryError('not yet', delay=0.2)
    return {'tries': retry + 1}


@kopf.on.update('example.com', 'v1', 'widgets', field='spec.size')
def resize(old, new, namespace, name, **_):
    kubernetes.client.CoreV1Api().patch_namespaced_config_map(name + '-child', namespace, {'data': {'size': new, 'before': old}})
    return {'from': old, 'to': new}


@kopf.on.delete('example.com', 'v1', 'widgets')
def delete(namespace, name, **_):
    # kopf may call it once more, when something else changed the object meanwhile.
    try:
        kubernetes.client.CoreV1Api().delete_namespaced_config_map(name + '-child', namespace)
    except kubernetes.client.ApiException as error:
        if error.status != 404:
            raise


@kopf.timer('example.com', 'v1', 'widgets', interval=0.5, labels={'timed': kopf.PRESENT})
def tick(status, patch, **_):
    patch.status['ticks'] = (status.get('ticks') or 0) + 1


@kopf.daemon('example.com', 'v1', 'widgets', labels={'watched': kopf.PRESENT})
async def attend(stopped, name, namespace, **_):
    await asyncio.to_thread(kubernetes.client.CustomObjectsApi().patch_namespaced_custom_object_status, 'example.com', 'v1', namespace, 'widgets', name,
                            {'status': {'attended': True}})
    await stopped.wait()


@kopf.index('example.com', 'v1', 'widgets')
def by_size(spec, name, **_):
    return {spec.get('size'): name}


@kopf.on.event('v1', 'configmaps', labels={'listed': kopf.PRESENT})
def listed(type, name, namespace, by_size: kopf.Index, **_):
    if type in (None, 'ADDED'):
        large = sorted(by_size.get('large', []))
        kubernetes.client.CoreV1Api().patch_namespaced_config_map(name, namespace, {'data': {'large': ' '.join(large)}})


@kopf.on.field('v1', 'configmaps', field='data.followed', labels={'field': kopf.PRESENT})
def followed(new, patch, **_):
    patch.metadata.annotations['example.com/followed'] = str(new)


@kopf.on.validate('example.com', 'v1', 'widgets')
def check(spec, warnings, **_):
    if spec.get('replicas') == 7:
        raise kopf.AdmissionError('seven is not to be had', code=409)
    if spec.get('replicas') == 8:
        warnings.append('eight is a lot')


@kopf.on.mutate('example.com', 'v1', 'widgets', operations=['CREATE'])
def mark(patch, dryrun, **_):
    patch.metadata.annotations['example.com/marked'] = 'dry' if dryrun else 'wet'
