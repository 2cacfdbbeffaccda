#!/usr/bin/env python3
"""An API server for the group wardle.example.com that stands behind another one: flunders, in memory.

    extension_server.py CERTIFICATE KEY CLIENT_CA PORT_FILE

It takes requests only from who has a certificate of that authority, and believes what X-Remote-User and the like say. Its port
is written into PORT_FILE. Discovery, OpenAPI, get, list, watch, create, delete, and a connection that changes its protocol and
then sends everything back.
"""
import http.server
import json
import pathlib
import ssl
import sys
import threading
import time
import urllib.parse

GROUP, VERSION = 'wardle.example.com', 'v1'
BASE = f'/apis/{GROUP}/{VERSION}'
RESOURCE = {'name': 'flunders', 'singularName': 'flunder', 'namespaced': True, 'kind': 'Flunder', 'shortNames': ['fl'],
            'verbs': ['get', 'list', 'watch', 'create', 'delete']}
SCHEMA = {'type': 'object', 'description': 'Something that is kept elsewhere.',
          'properties': {'spec': {'type': 'object', 'properties': {'colour': {'type': 'string', 'description': 'What it looks like.'}}}},
          'x-kubernetes-group-version-kind': [{'group': GROUP, 'version': VERSION, 'kind': 'Flunder'}]}
OPERATION = {'operationId': 'listFlunder', 'x-kubernetes-action': 'list', 'x-kubernetes-group-version-kind': {'group': GROUP, 'version': VERSION, 'kind': 'Flunder'}}
objects, changed = {}, threading.Condition()
events = []


def aggregated():
    resource = {'resource': 'flunders', 'responseKind': {'group': GROUP, 'version': VERSION, 'kind': 'Flunder'}, 'scope': 'Namespaced',
                'singularResource': 'flunder', 'shortNames': ['fl'], 'verbs': RESOURCE['verbs']}
    return {'kind': 'APIGroupDiscoveryList', 'apiVersion': 'apidiscovery.k8s.io/v2', 'metadata': {},
            'items': [{'metadata': {'name': GROUP}, 'versions': [{'version': VERSION, 'resources': [resource], 'freshness': 'Current'}]}]}


def openapi_v3():
    answer = {'200': {'description': 'OK', 'content': {'application/json': {'schema': {'$ref': '#/components/schemas/com.example.wardle.v1.Flunder'}}}}}
    return {'openapi': '3.0.0', 'info': {'title': 'Wardle', 'version': '1'},
            'paths': {f'{BASE}/namespaces/{{namespace}}/flunders': {'get': {**OPERATION, 'responses': answer}}},
            'components': {'schemas': {'com.example.wardle.v1.Flunder': SCHEMA}}}


def openapi_v2():
    answer = {'200': {'description': 'OK', 'schema': {'$ref': '#/definitions/com.example.wardle.v1.Flunder'}}}
    return {'swagger': '2.0', 'info': {'title': 'Wardle', 'version': '1'},
            'paths': {f'{BASE}/namespaces/{{namespace}}/flunders': {'get': {**OPERATION, 'responses': answer}}, '/version/': {'get': {}}},
            'definitions': {'com.example.wardle.v1.Flunder': SCHEMA, 'unused': {}}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, form, *arguments):
        print(self.headers.get('X-Remote-User'), form % arguments, flush=True)

    def answer(self, code, body, content_type='application/json'):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header('Content-Type', content_type)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def status(self, code, reason, message):
        self.answer(code, {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'code': code, 'reason': reason, 'message': message})

    def place(self):
        """Namespace and name of a flunder's path; None for other paths."""
        parts = self.path.split('?')[0].strip('/').split('/')
        if parts[:3] != ['apis', GROUP, VERSION] or parts[-1] == VERSION:
            return None
        parts = parts[3:]
        namespace = parts[1] if parts[0] == 'namespaces' else ''
        rest = parts[2:] if namespace else parts
        return (namespace, rest[1] if len(rest) > 1 else '') if rest and rest[0] == 'flunders' else None

    def identity(self):
        return {'user': self.headers.get('X-Remote-User'), 'groups': self.headers.get_all('X-Remote-Group') or [],
                'authorization': self.headers.get('Authorization'), 'audit': self.headers.get('Audit-Id') or ''}

    def do_GET(self):
        path = self.path.split('?')[0]
        documents = {BASE: {'kind': 'APIResourceList', 'apiVersion': 'v1', 'groupVersion': f'{GROUP}/{VERSION}', 'resources': [RESOURCE]},
                     BASE + '/whoami': self.identity(), '/openapi/v2': openapi_v2(), f'/openapi/v3{BASE}': openapi_v3(),
                     '/openapi/v3': {'paths': {BASE[1:]: {'serverRelativeURL': f'/openapi/v3{BASE}?hash=1'}}}}
        if path == '/apis' and 'APIGroupDiscoveryList' in self.headers.get('Accept', ''):
            return self.answer(200, aggregated(), 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')
        if path == BASE + '/echo':
            return self.echo()
        if path in documents:
            return self.answer(200, documents[path])
        if self.place() is None:
            return self.status(404, 'NotFound', 'the server could not find the requested resource')
        namespace, name = self.place()
        if name:
            found = objects.get((namespace, name))
            return self.answer(200, found) if found else self.status(404, 'NotFound', f'flunders.{GROUP} "{name}" not found')
        if 'watch=' in self.path:
            return self.watch()
        items = [self.form(item) for (place, _), item in objects.items() if namespace in ('', place)]
        kind = {'kind': 'FlunderList', 'apiVersion': f'{GROUP}/{VERSION}'}
        if 'as=PartialObjectMetadata' in self.headers.get('Accept', ''):
            kind = {'kind': 'PartialObjectMetadataList', 'apiVersion': 'meta.k8s.io/v1'}
        self.answer(200, {**kind, 'metadata': {'resourceVersion': str(len(events))}, 'items': items})

    def form(self, item):
        """The object, or its metadata alone for who asks for no more."""
        if 'as=PartialObjectMetadata' not in self.headers.get('Accept', ''):
            return item
        return {'kind': 'PartialObjectMetadata', 'apiVersion': 'meta.k8s.io/v1', 'metadata': item['metadata']}

    def watch(self):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get('resourceVersion', [''])[0]
        seen = int(asked) if asked else len(events)
        while True:
            with changed:
                changed.wait_for(lambda: len(events) > seen, timeout=30)
                event = dict(events[seen], object=self.form(events[seen]['object'])) if len(events) > seen else None
                line = (json.dumps(event) + '\n').encode() if event else b''
            if not line:
                break
            self.wfile.write(b'%x\r\n%s\r\n' % (len(line), line))
            seen += 1
        self.wfile.write(b'0\r\n\r\n')

    def echo(self):
        if 'upgrade' not in self.headers.get('Connection', '').lower():
            return self.status(400, 'BadRequest', 'Upgrade request required')
        self.connection.sendall(b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
        self.close_connection = True
        while data := self.connection.recv(4096):
            self.connection.sendall(data)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get('Content-Length', 0))))
        namespace, _ = self.place() or ('', '')
        name = body['metadata']['name']
        body['metadata'].update(namespace=namespace, uid=f'uid-{name}', resourceVersion=str(len(events) + 1),
                                creationTimestamp=time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()))
        with changed:
            objects[namespace, name] = body
            events.append({'type': 'ADDED', 'object': body})
            changed.notify_all()
        self.answer(201, body)

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get('Content-Length', 0)))
        with changed:
            gone = objects.pop(self.place(), None)
            if gone:
                events.append({'type': 'DELETED', 'object': gone})
                changed.notify_all()
        self.answer(200, {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Success'}) if gone else self.status(404, 'NotFound', 'no such flunder')


def main():
    certificate, key, client_ca, port_file = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(client_ca)
    context.verify_mode = ssl.CERT_REQUIRED
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    pathlib.Path(port_file).write_text(str(server.server_address[1]))
    server.serve_forever()


main()
