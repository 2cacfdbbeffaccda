"""A server for the tests of this folder: etcd and kube-apiserver of KUBEBUILDER_ASSETS, which a harness of Go or Java would start the same way."""
import os
import pathlib
import socket
import ssl
import subprocess
import time
import urllib.request

import kubernetes
import pytest

ASSETS = pathlib.Path(os.environ['KUBEBUILDER_ASSETS'])
# A kube-apiserver on a machine that has other things to do takes its time.
START_LIMIT = 180


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def wait_until(what, holds, limit=60):
    """Asks again and again until something holds, which is returned; fails after so many seconds."""
    end = time.monotonic() + limit
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, f'not in time: {what}'
        time.sleep(0.05)


def start(folder, name, *words):
    with open(folder / f'{name}.log', 'wb') as log:
        return subprocess.Popen([ASSETS / name, *words], cwd=folder, stdout=log, stderr=subprocess.STDOUT)


def healthy(url):
    try:
        # Only whether it is there: who it is, the clients check.
        with urllib.request.urlopen(url, timeout=5, context=ssl._create_unverified_context()) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture(scope='session')
def kubeconfig(tmp_path_factory):
    """The path of a kubeconfig of an administrator, which the environment names, too."""
    folder = tmp_path_factory.mktemp('server')
    (folder / 'tokens.csv').write_text('a-token,admin,admin,system:masters\n')
    subprocess.run(['openssl', 'genrsa', '-out', folder / 'accounts.key', '2048'], check=True, capture_output=True)
    clients, peers, port = free_port(), free_port(), free_port()
    etcd_url, peer_url, url = f'http://127.0.0.1:{clients}', f'http://127.0.0.1:{peers}', f'https://127.0.0.1:{port}'
    etcd = start(folder, 'etcd', f'--data-dir={folder}/etcd', f'--listen-client-urls={etcd_url}', f'--advertise-client-urls={etcd_url}',
                 f'--listen-peer-urls={peer_url}', f'--initial-advertise-peer-urls={peer_url}', f'--initial-cluster=default={peer_url}')
    # Without a certificate of its own the server makes one and leaves it in --cert-dir.
    server = start(folder, 'kube-apiserver', f'--etcd-servers={etcd_url}', f'--secure-port={port}', '--bind-address=127.0.0.1', f'--cert-dir={folder}/certs',
                   '--authorization-mode=RBAC', f'--token-auth-file={folder}/tokens.csv', '--service-account-issuer=https://kubernetes.default.svc',
                   f'--service-account-key-file={folder}/accounts.key', f'--service-account-signing-key-file={folder}/accounts.key',
                   '--service-cluster-ip-range=10.96.0.0/16', '--disable-admission-plugins=ServiceAccount', '--endpoint-reconciler-type=none')
    try:
        wait_until('the server is ready', lambda: healthy(url + '/readyz') or server.poll() is not None, START_LIMIT)
        assert server.poll() is None, (folder / 'kube-apiserver.log').read_text()[-2000:]
        path = folder / 'kubeconfig'
        path.write_text(f'''apiVersion: v1
kind: Config
clusters:
- name: tests
  cluster: {{server: "{url}", certificate-authority: "{folder}/certs/apiserver.crt"}}
users:
- name: admin
  user: {{token: a-token}}
contexts:
- name: tests
  context: {{cluster: tests, user: admin}}
current-context: tests
''')
        os.environ['KUBECONFIG'] = str(path)
        yield path
    finally:
        # With watches open kube-apiserver would wait for them for a minute.
        for process in (server, etcd):
            process.kill()
            process.wait()


@pytest.fixture
def namespace(kubeconfig):
    """The name of a namespace that is the test's own."""
    kubernetes.config.load_kube_config(str(kubeconfig))
    made = kubernetes.client.CoreV1Api().create_namespace({'metadata': {'generateName': 'test-'}})
    return made.metadata.name
