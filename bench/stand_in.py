#!/usr/bin/env python3
"""How long the stand-in for kube-apiserver takes to be healthy and to stop, and what it keeps of memory, as test harnesses see it.

    stand_in.py [--runs N] [--watches W] [--assets DIRECTORY]

Each run starts it as envtest does, asks /healthz every millisecond, opens W watches, sends SIGTERM and waits for the end. With --assets,
a folder with kube-apiserver and etcd, those are measured instead, for comparison: etcd is started first and its time not counted.
"""
import argparse
import os
import pathlib
import signal
import socket
import ssl
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def openssl(*words, cwd):
    subprocess.run(['openssl', *words], cwd=cwd, check=True, capture_output=True)


def make_certificates(folder):
    key = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2')
    openssl('req', '-x509', *key, '-keyout', 'ca.key', '-out', 'client-cert-auth-ca.crt', '-subj', '/CN=ca', cwd=folder)
    openssl('req', '-x509', *key, '-keyout', 'apiserver.key', '-out', 'apiserver.crt', '-subj', '/CN=apiserver', '-addext',
            'subjectAltName=DNS:localhost,IP:127.0.0.1', cwd=folder)
    openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', 'sa-signer.key', '-out', 'sa-signer.crt', '-subj', '/CN=sa', cwd=folder)
    openssl('req', *key[:-2], '-keyout', 'admin.key', '-out', 'admin.csr', '-subj', '/O=system:masters/CN=admin', cwd=folder)
    openssl('x509', '-req', '-in', 'admin.csr', '-CA', 'client-cert-auth-ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-out',
            'admin.crt', cwd=folder)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program, certificates, folder, etcd):
        self.port = free_port()
        self.context = ssl.create_default_context(cafile=certificates / 'apiserver.crt')
        self.context.load_cert_chain(certificates / 'admin.crt', certificates / 'admin.key')
        flags = {'allow-privileged': 'true', 'authorization-mode': 'RBAC', 'bind-address': '127.0.0.1', 'cert-dir': certificates,
                 'client-ca-file': certificates / 'client-cert-auth-ca.crt', 'disable-admission-plugins': 'ServiceAccount', 'etcd-servers': etcd,
                 'secure-port': self.port, 'service-account-issuer': f'https://127.0.0.1:{self.port}/',
                 'service-account-key-file': certificates / 'sa-signer.crt', 'service-account-signing-key-file': certificates / 'sa-signer.key',
                 'service-cluster-ip-range': '10.0.0.0/24'}
        with open(folder / 'log', 'ab') as log:
            self.begin = time.monotonic()
            self.process = subprocess.Popen([program, *(f'--{name}={value}' for name, value in flags.items())], stdout=log, stderr=log, cwd=folder)

    def ask(self, path):
        plain = socket.create_connection(('127.0.0.1', self.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as all clients of Kubernetes have it
        connection = self.context.wrap_socket(plain, server_hostname='127.0.0.1')
        connection.sendall(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
        return connection

    def wait_healthy(self):
        """Milliseconds from the start."""
        while self.process.poll() is None:
            try:
                with self.ask('/healthz') as connection:
                    if connection.recv(64).startswith(b'HTTP/1.1 200'):
                        return (time.monotonic() - self.begin) * 1000
            except OSError:
                pass
            time.sleep(0.001)
        raise SystemExit('the server ended; see its log')

    def resident(self):
        """MiB."""
        for line in pathlib.Path(f'/proc/{self.process.pid}/status').read_text().splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) / 1024
        return 0

    def stop(self):
        """Milliseconds from SIGTERM to the end."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        return (time.monotonic() - begin) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--watches', type=int, default=50)
    parser.add_argument('--assets', type=pathlib.Path)
    options = parser.parse_args()
    starts, stops, memory, left = [], [], [], set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        certificates = folder / 'certificates'
        certificates.mkdir()
        make_certificates(certificates)
        assets = options.assets
        if assets is None:
            assets = folder / 'assets'
            program = os.environ.get('HOMEOSTAT', str(ROOT / 'build/homeostat'))
            subprocess.run([program, 'envtest', 'install', assets], check=True, capture_output=True)
        for run in range(options.runs):
            with open(folder / 'log', 'ab') as log:
                client, peer = free_port(), free_port()
                etcd = subprocess.Popen([assets / 'etcd', f'--data-dir={folder}/etcd-{run}', f'--listen-client-urls=http://127.0.0.1:{client}',
                                         f'--advertise-client-urls=http://127.0.0.1:{client}', f'--listen-peer-urls=http://127.0.0.1:{peer}'], stdout=log, stderr=log)
            if options.assets:
                time.sleep(2)
            before = {path for path in folder.rglob('*') if 'etcd-' not in str(path)}
            server = Server(assets / 'kube-apiserver', certificates, folder, f'http://127.0.0.1:{client}')
            starts.append(server.wait_healthy())
            watches = [server.ask('/api/v1/configmaps?watch=true') for _ in range(options.watches)]
            for watch in watches:
                watch.recv(64)
            memory.append(server.resident())
            stops.append(server.stop())
            left |= {path for path in folder.rglob('*') if 'etcd-' not in str(path)} - before
            for watch in watches:
                watch.close()
            etcd.terminate()
            etcd.wait()
    def shown(values):
        return f'median {statistics.median(values):.1f}, least {min(values):.1f}, most {max(values):.1f}'
    print(f'start to healthy, ms: {shown(starts)} ({options.runs} runs)')
    print(f'SIGTERM to the end with {options.watches} watches open, ms: {shown(stops)}')
    print(f'resident memory with them, MiB: {shown(memory)}')
    print('left behind: ' + (', '.join(str(path) for path in sorted(left)) or 'nothing'))


if __name__ == '__main__':
    main()
