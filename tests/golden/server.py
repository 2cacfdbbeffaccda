"""A homeostat process for a test, and HTTP to it."""
import gzip
import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.parse

# The name the answers were recorded under: it is the field manager of writes that name none.
USER_AGENT = 'replay/1.0'
READY = re.compile(r'ready at (https://\S+?);')


class Homeostat:
    """homeostat up in a folder of its own, while the `with` block runs."""

    def __init__(self, program, *flags, store='memory'):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='homeostat-golden-'))
        self.log = open(self.directory / 'log', 'wb')
        self.process = subprocess.Popen(
            [program, 'up', '--data-dir', self.directory / 'data', '--store', store, '--node', 'none',
             '--listen', '127.0.0.1:0', *flags], stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        ready = READY.search(line)
        if not ready:
            self.stop()
            raise RuntimeError(f'{program} did not start: {line}{self.log_end()}')
        self.url = urllib.parse.urlsplit(ready[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log_end(self):
        return (self.directory / 'log').read_text(errors='replace')[-2000:]

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def connections(self):
        pki = self.directory / 'data' / 'pki'
        return Connections(self.url, pki / 'ca.crt', pki / 'admin.crt', pki / 'admin.key')


class Connections:
    """One connection with the administrator's certificate and one without any."""

    def __init__(self, url, authority, certificate, key):
        self.url, self.open_ones, self.contexts = url, {}, {}
        for anonymous in (False, True):
            self.contexts[anonymous] = ssl.create_default_context(cafile=os.fspath(authority))
        self.contexts[False].load_cert_chain(certificate, key)

    def _open(self, anonymous):
        return http.client.HTTPSConnection(self.url.hostname, self.url.port, timeout=60, context=self.contexts[anonymous])

    def request(self, method, path, headers, body=None, anonymous=False):
        """(code, headers, bytes). A kept connection that the server has closed is replaced once."""
        headers = {'User-Agent': USER_AGENT, 'Accept': 'application/json', **headers}
        for attempt in (1, 2):
            connection = self.open_ones.setdefault(anonymous, self._open(anonymous))
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                data = response.read()
                break
            except (http.client.HTTPException, OSError):
                self.open_ones.pop(anonymous).close()
                if attempt == 2:
                    raise
        if response.headers.get('Content-Encoding') == 'gzip':
            data = gzip.decompress(data)
        return response.status, response.headers, data

    def watch(self, path, headers, count, seconds):
        """(code, events): at most `count` of those that come within the time; or the error that was answered."""
        connection, events, end = self._open(False), [], time.monotonic() + seconds
        try:
            connection.request('GET', path, None, {'User-Agent': USER_AGENT, 'Accept': 'application/json', **headers})
            response = connection.getresponse()
            if response.status != 200:
                return response.status, _decode(response.read())
            while len(events) < count and (left := end - time.monotonic()) > 0:
                if connection.sock:
                    connection.sock.settimeout(max(left, 0.05))
                line = response.readline()
                if not line:
                    break
                if line.strip():
                    events.append(json.loads(line))
        except TimeoutError:
            pass
        finally:
            connection.close()
        return 200, events


def _decode(data):
    """JSON, or the text where it is none."""
    try:
        return json.loads(data or b'null')
    except ValueError:
        return data.decode('utf8', 'replace')
