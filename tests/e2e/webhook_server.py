#!/usr/bin/env python3
"""A webhook server with a character for every path, honest and otherwise.

    webhook_server.py CERTIFICATE KEY PORT_FILE LOG

Listens with TLS on a free port, which it writes to PORT_FILE. Every review it gets is a line of JSON in LOG:
{"path": …, "review": …}.
"""
import base64
import http.server
import json
import ssl
import sys
import threading
import time

log_lock = threading.Lock()


def label_patch(request, name, value):
    """The operations that put a label on the object."""
    escaped = name.replace('~', '~0').replace('/', '~1')
    if 'labels' in request['object']['metadata']:
        return [{'op': 'add', 'path': '/metadata/labels/' + escaped, 'value': value}]
    return [{'op': 'add', 'path': '/metadata/labels', 'value': {name: value}}]


def patched(operations):
    return {'allowed': True, 'patchType': 'JSONPatch', 'patch': base64.b64encode(json.dumps(operations).encode()).decode()}


def count_calls(request):
    """Says in an annotation how often it was asked, and what it saw the last time."""
    metadata = request['object']['metadata']
    calls = int(metadata.get('annotations', {}).get('calls', 0)) + 1
    seen = ','.join(sorted(metadata.get('labels', {})))
    if 'annotations' in metadata:
        return patched([{'op': 'add', 'path': '/metadata/annotations/calls', 'value': str(calls)},
                        {'op': 'add', 'path': '/metadata/annotations/seen', 'value': seen}])
    return patched([{'op': 'add', 'path': '/metadata/annotations', 'value': {'calls': str(calls), 'seen': seen}}])


def answer_admission(path, request):
    """The response to an AdmissionReview's request."""
    if path == '/deny':
        return {'allowed': False, 'status': {'code': 402, 'reason': 'PaymentRequired', 'message': 'not for free'}}
    if path == '/silent':
        return {'allowed': False}
    if path == '/warn':
        return {'allowed': True, 'warnings': ['think twice', 'think twice', 'and then again']}
    if path == '/label':
        return patched(label_patch(request, 'mutated', 'yes'))
    if path == '/count':
        return count_calls(request)
    if path == '/default':  # takes away what has a default
        return patched([{'op': 'remove', 'path': '/spec/type'}])
    if path == '/rename':
        return patched([{'op': 'replace', 'path': '/metadata/name', 'value': 'somebody-else'}])
    if path == '/unknown-field':
        return patched([{'op': 'add', 'path': '/spec/surprise', 'value': 1}])
    if path == '/out-of-range':
        return patched([{'op': 'add', 'path': '/spec/port', 'value': 70000}])
    if path == '/bad-patch':
        return patched([{'op': 'remove', 'path': '/nothing/here'}])
    if path == '/patch-without-type':
        return {'allowed': True, 'patch': base64.b64encode(b'[]').decode()}
    return {'allowed': True}


def convert(path, item, desired):
    """v1 has spec.address, v2 spec.host and spec.port."""
    spec = dict(item.get('spec', {}))
    if desired.endswith('/v2') and 'address' in spec:
        host, _, port = spec.pop('address').partition(':')
        spec.update(host=host, port=int(port or 0))
    elif desired.endswith('/v1'):
        spec = {'address': '%s:%d' % (spec.pop('host', ''), spec.pop('port', 0))}
    metadata = dict(item['metadata'])
    if path == '/convert-rename':
        metadata['name'] = 'somebody-else'
    if path == '/convert-label':
        metadata['labels'] = dict(metadata.get('labels', {}), converted='yes')
        metadata['generation'] = 77
    return dict(item, apiVersion=desired, spec=spec, metadata=metadata)


def answer_conversion(path, request):
    if path == '/convert-refuse':
        return {'result': {'status': 'Failure', 'message': 'I would rather not'}}
    objects = [convert(path, item, request['desiredAPIVersion']) for item in request['objects']]
    if path == '/convert-lose':
        objects = objects[1:]
    return {'convertedObjects': objects, 'result': {'status': 'Success'}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        path = self.path.partition('?')[0]
        review = json.loads(body)
        with log_lock, open(sys.argv[4], 'a') as log:
            log.write(json.dumps({'path': path, 'review': review}) + '\n')
        if path == '/hang':
            time.sleep(60)
        if path == '/huge':
            return self.send_huge()
        if path == '/redirect':
            return self.send(b'', 302, {'Location': 'https://127.0.0.1:1/elsewhere'})
        if path == '/broken':
            return self.send(b'out of paper', 500, {'Content-Type': 'text/plain'})
        if path == '/garbage':
            return self.send(b'{"kind":')
        request = review['request']
        response = answer_conversion(path, request) if review['kind'] == 'ConversionReview' else answer_admission(path, request)
        response['uid'] = 'another' if path.endswith('wrong-uid') else request['uid']
        self.send(json.dumps({'apiVersion': review['apiVersion'], 'kind': review['kind'], 'response': response}).encode())

    def send(self, body, code=200, headers=None):
        self.send_response(code)
        for name, value in dict({'Content-Type': 'application/json'}, **(headers or {})).items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_huge(self):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(8 << 30))
        self.end_headers()
        try:
            for _ in range(8 << 10):
                self.wfile.write(b' ' * (1 << 20))
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # peers that don't trust us, or go away


def main():
    certificate, key, port_file = sys.argv[1:4]
    server = Server(('', 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with open(port_file, 'w') as file:
        file.write(str(server.server_address[1]))
    server.serve_forever()


main()
