#!/usr/bin/env python3
"""Writes the images that conformance tests run as image tars (docker-archive form), made of what Debian and Kubernetes' Go module have.

usage: images.py --agnhost FILE --nonewprivs FILE --sample-apiserver FILE --etcd FILE --pause FILE --module DIRECTORY OUTPUT_DIRECTORY

The programs come built; --module is the source tree of k8s.io/kubernetes. busybox is Debian's busybox-static; programs that agnhost's image has
besides (curl, bash, dig, nc, ip, iperf) are taken from this machine with their libraries, as far as it has them.
"""
import argparse
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import tarfile

REGISTRY = "registry.k8s.io/e2e-test-images/"


class Layer:
    """Files of a root file system, written in the order of their paths."""

    def __init__(self):
        self.entries = {}

    def add(self, path, data=b"", mode=0o755, kind=tarfile.REGTYPE, link="", owner=0):
        parts = path.split("/")[:-1]
        for i in range(1, len(parts) + 1):
            self.entries.setdefault("/".join(parts[:i]), (b"", 0o755, tarfile.DIRTYPE, "", 0))
        self.entries[path] = (data, mode, kind, link, owner)

    def directory(self, path, mode=0o755, owner=0):
        self.add(path, mode=mode, kind=tarfile.DIRTYPE, owner=owner)

    def link(self, path, target):
        self.add(path, kind=tarfile.SYMTYPE, link=target)

    def file(self, path, source, mode=0o755):
        self.add(path, pathlib.Path(source).read_bytes(), mode)

    def text(self, path, text):
        self.add(path, text.encode(), 0o644)

    def program(self, name):
        """One of this machine's, with the libraries it is linked with; nothing if there is none."""
        source = shutil.which(name)
        if source is None:
            return
        self.file("usr/bin/" + name, source)
        listing = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(/\S+) \(0x", listing):
            self.file(library.lstrip("/"), library)

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for path, (data, mode, kind, link, owner) in sorted(self.entries.items()):
                info = tarfile.TarInfo(path)
                info.type, info.mode, info.size, info.linkname, info.uid, info.gid = kind, mode, len(data), link, owner, owner
                archive.addfile(info, io.BytesIO(data) if kind == tarfile.REGTYPE else None)
        return out.getvalue()


def write_image(path, layer, names, **config):
    data = layer.tar()
    digest = hashlib.sha256(data).hexdigest()
    document = {"architecture": "amd64", "os": "linux", "config": config, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]},
                "history": [{"created": "2026-01-01T00:00:00Z"}], "created": "2026-01-01T00:00:00Z"}
    text = json.dumps(document).encode()
    name = hashlib.sha256(text).hexdigest() + ".json"
    manifest = json.dumps([{"Config": name, "RepoTags": names, "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as archive:
        for entry, content in ((name, text), ("layer.tar", data), ("manifest.json", manifest)):
            info = tarfile.TarInfo(entry)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def base():
    """A system with busybox for everything, and users as small distributions have them."""
    layer = Layer()
    busybox = shutil.which("busybox")
    layer.file("bin/busybox", busybox)
    for applet in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if applet != "busybox":
            layer.link("bin/" + applet, "busybox")
    # A shell that hands on variables whose names are no identifiers, which Debian's busybox does not.
    layer.program("bash")
    layer.link("bin/sh", "/usr/bin/bash")
    layer.directory("tmp", 0o1777)
    for name in ("dev", "proc", "sys", "run", "sbin", "usr/sbin", "usr/local/bin", "var/tmp", "mnt"):
        layer.directory(name)
    layer.directory("root", 0o700)
    layer.directory("home", 0o755)
    layer.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    layer.text("etc/group", "root:x:0:\nnogroup:x:65534:\n")
    layer.text("etc/nsswitch.conf", "hosts: files dns\n")
    return layer


def agnhost(options):
    layer = base()
    for name in ("curl", "bash", "dig", "nc", "ip", "iperf", "unshare", "nsenter"):
        layer.program(name)
    layer.file("agnhost", options.agnhost)
    layer.link("agnhost-2", "agnhost")
    layer.directory("uploads")
    for name in ("localhost.crt", "localhost.key"):
        layer.file(name, options.module / "test/images/agnhost/porter" / name, 0o644)
    layer.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nuser-defined-in-image:x:1000:1000::/home/user:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    layer.text("etc/group", "root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\nnogroup:x:65534:\n")
    return layer


def main():
    parser = argparse.ArgumentParser()
    for name in ("agnhost", "nonewprivs", "sample-apiserver", "etcd", "pause", "module"):
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    out = options.output
    out.mkdir(parents=True, exist_ok=True)
    environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    host = agnhost(options)
    write_image(out / "agnhost.tar", host, [REGISTRY + "agnhost:2.63.0", REGISTRY + "agnhost:2.55"], Env=environment, Entrypoint=["/agnhost"], Cmd=["pause"])
    write_image(out / "busybox.tar", base(), [REGISTRY + "busybox:1.37.0-1"], Env=environment, Cmd=["sh"])
    # Nothing is asked of it: it must only stay up.
    web = base()
    web.text("www/index.html", "It works.\n")
    write_image(out / "nginx.tar", web, [REGISTRY + "nginx:1.15-4"], Env=environment, Cmd=["httpd", "-f", "-p", "80", "-h", "/www"])
    pause = Layer()
    pause.file("pause", options.pause)
    write_image(out / "pause.tar", pause, ["registry.k8s.io/pause:3.10.2"], Env=environment, Entrypoint=["/pause"], User="65535:65535")
    setuid = base()
    setuid.file("usr/local/bin/nnp", options.nonewprivs, 0o4755)
    write_image(out / "nonewprivs.tar", setuid, [REGISTRY + "nonewprivs:1.4"], Env=environment, Entrypoint=["/usr/local/bin/nnp"])
    extension = base()
    extension.file("sample-apiserver", options.sample_apiserver)
    write_image(out / "sample-apiserver.tar", extension, [REGISTRY + "sample-apiserver:1.29.2"], Env=environment, Entrypoint=["/sample-apiserver"])
    store = Layer()
    store.file("usr/local/bin/etcd", options.etcd)
    write_image(out / "etcd.tar", store, ["registry.k8s.io/etcd:3.6.8-0"], Env=environment, Cmd=["/usr/local/bin/etcd"])
    nautilus = agnhost(options)
    for name in ("data.json", "nautilus.jpg"):
        nautilus.file(name, options.module / "test/images/nautilus/html" / name, 0o644)
    write_image(out / "nautilus.tar", nautilus, [REGISTRY + "nautilus:1.8"], Env=environment, Entrypoint=["/agnhost"], Cmd=["test-webserver"])


if __name__ == "__main__":
    main()
