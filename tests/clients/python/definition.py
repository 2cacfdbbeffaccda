"""A definition that the tests of this folder share: widgets, with a status, a scale and a rule."""
import kubernetes

from conftest import wait_until

GROUP, VERSION, PLURAL = 'example.com', 'v1', 'widgets'
API_VERSION = f'{GROUP}/{VERSION}'

DEFINITION = {
    'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': f'{PLURAL}.{GROUP}'},
    'spec': {
        'group': GROUP, 'scope': 'Namespaced', 'names': {'plural': PLURAL, 'singular': 'widget', 'kind': 'Widget', 'shortNames': ['wd']},
        'versions': [{
            'name': VERSION, 'served': True, 'storage': True,
            'subresources': {'status': {}, 'scale': {'specReplicasPath': '.spec.replicas', 'statusReplicasPath': '.status.replicas'}},
            'additionalPrinterColumns': [{'name': 'Size', 'type': 'string', 'jsonPath': '.spec.size'}],
            'schema': {'openAPIV3Schema': {
                'type': 'object',
                'properties': {
                    'spec': {
                        'type': 'object', 'x-kubernetes-validations': [{'rule': 'self.replicas <= 10', 'message': 'at most ten'}],
                        'properties': {
                            'size': {'type': 'string', 'enum': ['small', 'large'], 'default': 'small'},
                            'replicas': {'type': 'integer', 'minimum': 0, 'default': 1},
                            'parts': {'type': 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'],
                                      'items': {'type': 'object', 'required': ['name'],
                                                'properties': {'name': {'type': 'string'}, 'colour': {'type': 'string'}}}},
                        },
                    },
                    'status': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True},
                },
            }},
        }],
    },
}


def define():
    """Makes the definition, if it isn't there, and waits until its kind is served."""
    extensions = kubernetes.client.ApiextensionsV1Api()
    try:
        extensions.create_custom_resource_definition(DEFINITION)
    except kubernetes.client.ApiException as error:
        assert error.status == 409

    def established():
        conditions = extensions.read_custom_resource_definition(DEFINITION['metadata']['name']).status.conditions or []
        return any(c.type == 'Established' and c.status == 'True' for c in conditions)
    wait_until('the definition is established', established)

    def served():
        try:
            return kubernetes.client.CustomObjectsApi().list_cluster_custom_object(GROUP, VERSION, PLURAL)
        except kubernetes.client.ApiException as error:
            assert error.status == 404
    wait_until('the kind is served', served)


def widget(name, **spec):
    return {'apiVersion': API_VERSION, 'kind': 'Widget', 'metadata': {'name': name}, 'spec': spec}
