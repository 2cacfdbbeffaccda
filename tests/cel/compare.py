#!/usr/bin/env python3
"""Compares src/cel with the original, cel-go with Kubernetes' libraries: values, errors, costs, estimates.

    compare.py [--count N] [--seed S] [--program BUILD/cel_test] [--show N]

Makes N expressions from a seed (and all conformance cases), lets both evaluate them, and prints those whose answers differ.
Needs Go and the modules of original/go.mod; without them it says so and succeeds.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ATTEMPTS = 12


class Maker:
    """Expressions of a wanted type; now and then of another one, so that errors are seen, too."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = []  # of loops around: (name, type)

    def pick(self, *choices):
        return self.random.choice(choices)

    def make(self, kind, depth):
        if self.random.random() < 0.015:
            kind = self.pick('int', 'string', 'bool', 'double', 'uint', 'ints', 'strings', 'duration', 'timestamp', 'bytes', 'dyn', 'map')
        if depth <= 0 or self.random.random() < 0.12:
            return self.leaf(kind)
        return getattr(self, 'make_' + kind)(depth - 1)

    def leaf(self, kind):
        local = [name for name, of in self.names if of == kind]
        if local and self.random.random() < 0.6:
            return self.random.choice(local)
        return self.random.choice(LEAVES[kind])

    def loop(self, kind, over, depth):
        """A name for a loop's variable, and what is made of it."""
        name = self.pick('x', 'y', 'v', 'i')
        self.names.append((name, over))
        body = self.make(kind, depth)
        self.names.pop()
        return name, body

    def loop2(self, kind, first, second, depth):
        self.names += [('i', first), ('v', second)]
        body = self.make(kind, depth)
        del self.names[-2:]
        return body

    def make_bool(self, d):
        m = self.make
        options = [
            lambda: f'{m("bool", d)} && {m("bool", d)}', lambda: f'({m("bool", d)} || {m("bool", d)})', lambda: f'!({m("bool", d)})',
            lambda: f'{m("int", d)} {self.pick("<", "<=", ">", ">=", "==", "!=")} {m("int", d)}',
            lambda: f'{m("string", d)} {self.pick("<", "<=", ">", ">=", "==", "!=")} {m("string", d)}',
            lambda: f'{m("double", d)} {self.pick("<", ">=", "==")} {m(self.pick("double", "int", "uint"), d)}',
            lambda: f'{m("dyn", d)} == {m(self.pick("dyn", "int", "string"), d)}',
            lambda: f'{m("int", d)} in {m("ints", d)}', lambda: f'{m("string", d)} in {m("strings", d)}', lambda: f'{m("string", d)} in {m("map", d)}',
            lambda: f'{m("string", d)}.{self.pick("startsWith", "endsWith", "contains")}({m("string", d)})',
            lambda: f'{m("string", d)}.matches({self.pick(chr(34) + "^h.*" + chr(34), chr(34) + "[a-z]+" + chr(34), "s", "e")})',
            lambda: f'({m("bool", d)} ? {m("bool", d)} : {m("bool", d)})',
            lambda: '{}.{}({}, {})'.format(m('ints', d), self.pick('all', 'exists', 'exists_one'), *self.loop('bool', 'int', d)),
            lambda: '{}.{}({}, {})'.format(m('strings', d), self.pick('all', 'exists', 'exists_one'), *self.loop('bool', 'string', d)),
            lambda: '{}.{}({}, {})'.format(m('map', d), self.pick('all', 'exists'), *self.loop('bool', 'string', d)),
            lambda: f'{m("ints", d)}.{self.pick("all", "exists", "existsOne")}(i, v, {self.loop2("bool", "int", "int", d)})',
            lambda: f'{m("map", d)}.{self.pick("all", "exists")}(i, v, {self.loop2("bool", "string", "int", d)})',
            lambda: f'has({self.pick("self.spec.missing", "self.spec.name", "any.a", "any.nope", "any.inner.k", "self.spec.hollow.inner", "m.one", "self.metadata.name")})',
            lambda: f'{m("ints", d)}.isSorted()', lambda: f'{m("strings", d)}.isSorted()',
            lambda: f'sets.{self.pick("contains", "intersects", "equivalent")}({m("ints", d)}, {m("ints", d)})',
            lambda: f'isQuantity({m("string", d)})', lambda: f'isURL({m("string", d)})', lambda: f'isIP({m("string", d)})',
            lambda: f'isCIDR({m("string", d)})', lambda: f'isSemver({m("string", d)})',
            lambda: f'{self.quantity()}.{self.pick("isGreaterThan", "isLessThan")}({self.quantity()})',
            lambda: f'{self.quantity()} == {self.quantity()}', lambda: f'ip({self.pick(*IPS)}).{self.pick("isLoopback", "isUnspecified", "isGlobalUnicast", "isLinkLocalUnicast", "isLinkLocalMulticast")}()',
            lambda: f'cidr({self.pick(*CIDRS)}).containsIP({self.pick(*IPS)})', lambda: f'cidr({self.pick(*CIDRS)}).containsCIDR({self.pick(*CIDRS)})',
            lambda: f'ip({self.pick(*IPS)}) == ip({self.pick(*IPS)})',
            lambda: f'semver({self.pick(*VERSIONS)}).{self.pick("isLessThan", "isGreaterThan")}(semver({self.pick(*VERSIONS)}, {self.pick("true", "false")}))',
            lambda: f'{self.optional(d)}.hasValue()', lambda: f'format.{self.pick("dns1123Label", "qualifiedName", "uuid", "date", "byte", "labelValue")}().validate({m("string", d)}).hasValue()',
            lambda: f'{m("timestamp", d)} {self.pick("<", ">", "==")} {m("timestamp", d)}', lambda: f'{m("duration", d)} {self.pick("<", ">", "==")} {m("duration", d)}',
            lambda: f'{m("ints", d)} == {m("ints", d)}', lambda: f'self.spec.tags == {m("strings", d)}', lambda: f'{m("bytes", d)} == {m("bytes", d)}',
            lambda: f'type({m("dyn", d)}) == {self.pick("int", "string", "list", "map", "type(1)")}',
        ]
        return self.random.choice(options)()

    def make_int(self, d):
        m = self.make
        options = [
            lambda: f'{m("int", d)} {self.pick("+", "-", "*", "/", "%")} {m("int", d)}', lambda: f'({m("int", d)} {self.pick("+", "-")} {m("int", d)})',
            lambda: f'-({m("int", d)})', lambda: f'size({m("string", d)})', lambda: f'{m("strings", d)}.size()', lambda: f'{m("map", d)}.size()', lambda: f'{m("bytes", d)}.size()',
            lambda: f'{m("ints", d)}[{m("int", d)}]', lambda: f'm[{m("string", d)}]', lambda: f'({m("bool", d)} ? {m("int", d)} : {m("int", d)})',
            lambda: f'int({m(self.pick("string", "double", "uint", "duration", "timestamp"), d)})',
            lambda: f'{m("string", d)}.{self.pick("indexOf", "lastIndexOf")}({m("string", d)})', lambda: f'{m("string", d)}.{self.pick("indexOf", "lastIndexOf")}({m("string", d)}, {m("int", d)})',
            lambda: f'{m("ints", d)}.{self.pick("sum", "min", "max")}()', lambda: f'{m("ints", d)}.{self.pick("indexOf", "lastIndexOf")}({m("int", d)})',
            lambda: f'{m("timestamp", d)}.{self.pick("getFullYear", "getMonth", "getDate", "getDayOfWeek", "getDayOfYear", "getDayOfMonth", "getHours", "getMinutes", "getSeconds", "getMilliseconds")}({self.pick("", "", *ZONES)})',
            lambda: f'{m("duration", d)}.{self.pick("getHours", "getMinutes", "getSeconds", "getMilliseconds")}()',
            lambda: f'{self.quantity()}.{self.pick("asInteger()", "compareTo(" + self.quantity() + ")")}', lambda: f'sign({self.quantity()})',
            lambda: f'ip({self.pick(*IPS)}).family()', lambda: f'cidr({self.pick(*CIDRS)}).prefixLength()', lambda: f'semver({self.pick(*VERSIONS)}).{self.pick("major", "minor", "patch")}()',
            lambda: f'{m("ints", d)}.{self.pick("first", "last")}().orValue({m("int", d)})', lambda: f'{m("ints", d)}[?{m("int", d)}].orValue({m("int", d)})',
        ]
        return self.random.choice(options)()

    def make_uint(self, d):
        return self.pick(f'uint({self.make(self.pick("int", "double", "string"), d)})', f'{self.make("uint", d)} {self.pick("+", "-", "*", "/", "%")} {self.make("uint", d)}')

    def make_double(self, d):
        m = self.make
        return self.pick(f'double({m(self.pick("int", "string", "uint"), d)})', f'{m("double", d)} {self.pick("+", "-", "*", "/")} {m("double", d)}', f'-{m("double", d)}',
                         f'{self.quantity()}.asApproximateFloat()', f'[{m("double", d)}, {m("double", d)}].{self.pick("sum", "min", "max")}()')

    def make_string(self, d):
        m = self.make
        options = [
            lambda: f'{m("string", d)} + {m("string", d)}', lambda: f'string({m(self.pick("int", "double", "uint", "bool", "bytes", "timestamp", "duration"), d)})',
            lambda: f'{m("string", d)}.{self.pick("lowerAscii", "upperAscii", "trim")}()', lambda: f'{m("string", d)}.charAt({m("int", d)})',
            lambda: f'{m("string", d)}.replace({m("string", d)}, {m("string", d)})', lambda: f'{m("string", d)}.replace({m("string", d)}, {m("string", d)}, {m("int", d)})',
            lambda: f'{m("string", d)}.substring({m("int", d)})', lambda: f'{m("string", d)}.substring({m("int", d)}, {m("int", d)})',
            lambda: f'{m("strings", d)}.join({self.pick("", m("string", d))})', lambda: f'strings.quote({m("string", d)})', lambda: f'{m("strings", d)}[{m("int", d)}]',
            lambda: f'{m("string", d)}.find({self.pick("s", chr(34) + "[a-z]+" + chr(34), chr(34) + "o.?" + chr(34))})', lambda: f'({m("bool", d)} ? {m("string", d)} : {m("string", d)})',
            lambda: f'"{self.pick("%s", "%d", "%f", "%.2f", "%x", "%b", "%o", "%X", "%s-%s", "%%", "%e")}".format([{m(self.pick("int", "string", "double", "ints", "bool", "dyn"), d)}])',
            lambda: f'(s + "%s|%d").format([dyn({m("dyn", d)}), dyn({m("int", d)})])', lambda: f'{self.optional(d, "string")}.orValue({m("string", d)})',
            lambda: f'url({self.pick(*URLS)}).{self.pick("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")}()', lambda: f'string(ip({self.pick(*IPS)}))',
            lambda: f'string(cidr({self.pick(*CIDRS)}).masked())', lambda: f'jsonpatch.escapeKey({m("string", d)})', lambda: f'{m("strings", d)}.{self.pick("min", "max")}()',
            lambda: self.pick('self.spec.items[0].key', 'self.spec.labels.app', 'self.spec.labels["app"]', 'self.spec.labels[?"nope"].orValue("no")', 'self.spec.?missing.orValue("m")', 'self.spec.missing'),
        ]
        return self.random.choice(options)()

    def make_ints(self, d):
        m = self.make
        options = [
            lambda: f'[{m("int", d)}, {m("int", d)}]', lambda: f'[{m("int", d)}, ?{self.optional(d)}]', lambda: f'{m("ints", d)} + {m("ints", d)}',
            lambda: '{}.map({}, {})'.format(m('ints', d), *self.loop('int', 'int', d)), lambda: '{}.map({}, {})'.format(m('strings', d), *self.loop('int', 'string', d)),
            lambda: '{}.filter({}, {})'.format(m('ints', d), *self.loop('bool', 'int', d)), lambda: f'{m("ints", d)}.map(x, {m("bool", d)}, x + 1)',
            lambda: f'{m("ints", d)}.{self.pick("sort", "reverse", "distinct")}()', lambda: f'{m("ints", d)}.slice({m("int", d)}, {m("int", d)})', lambda: f'lists.range({self.pick("3", "n", "0", "5")})',
            lambda: f'[{m("ints", d)}, {m("ints", d)}].flatten()', lambda: f'{m("ints", d)}.transformList(i, v, {self.loop2("int", "int", "int", d)})',
            lambda: f'{m("ints", d)}.transformList(i, v, {self.loop2("bool", "int", "int", d)}, i * v)', lambda: '{}.sortBy({}, {})'.format(m('ints', d), *self.loop('int', 'int', d)),
            lambda: f'[{self.optional(d)}, optional.none()].unwrapOpt()', lambda: f'({m("bool", d)} ? {m("ints", d)} : {m("ints", d)})',
        ]
        return self.random.choice(options)()

    def make_strings(self, d):
        m = self.make
        options = [
            lambda: f'[{m("string", d)}, {m("string", d)}]', lambda: f'{m("strings", d)} + {m("strings", d)}', lambda: f'self.spec.tags + {m("strings", d)}',
            lambda: '{}.map({}, {})'.format(m('ints', d), *self.loop('string', 'int', d)), lambda: '{}.filter({}, {})'.format(m('strings', d), *self.loop('bool', 'string', d)),
            lambda: f'{m("string", d)}.split({m("string", d)})', lambda: f'{m("string", d)}.split({m("string", d)}, {m("int", d)})', lambda: f'{m("string", d)}.findAll("[a-z]")',
            lambda: f'{m("string", d)}.findAll("l*", {m("int", d)})', lambda: f'{m("strings", d)}.{self.pick("sort", "reverse", "distinct")}()', lambda: f'{m("map", d)}.map(k, k)',
            lambda: '{}.sortBy({}, {})'.format(m('strings', d), *self.loop('int', 'string', d)), lambda: 'self.spec.items.map(o, o.key)',
        ]
        return self.random.choice(options)()

    def make_map(self, d):
        m = self.make
        return self.pick(f'{{{m("string", d)}: {m("int", d)}}}', f'{m("map", d)}.transformMap(i, v, v + 1)', f'{{"a": {m("int", d)}, ?"b": {self.optional(d)}}}',
                         f'[{m("int", d)}].transformMapEntry(i, v, {{string(v): i}})', f'{m("map", d)}.transformMap(i, v, {self.loop2("bool", "string", "int", d)}, v)')

    def make_bytes(self, d):
        return self.pick(f'bytes({self.make("string", d)})', f'{self.make("bytes", d)} + {self.make("bytes", d)}')

    def make_duration(self, d):
        m = self.make
        return self.pick(f'{m("duration", d)} {self.pick("+", "-")} {m("duration", d)}', f'{m("timestamp", d)} - {m("timestamp", d)}', f'duration({m("string", d)})')

    def make_timestamp(self, d):
        m = self.make
        return self.pick(f'{m("timestamp", d)} {self.pick("+", "-")} {m("duration", d)}', f'timestamp({m(self.pick("string", "int"), d)})', f'{m("duration", d)} + {m("timestamp", d)}')

    def make_dyn(self, d):
        m = self.make
        return self.pick(f'dyn({m(self.pick("int", "string", "bool", "ints", "map", "double"), d)})', f'any.{self.pick("a", "list", "inner.k", "nope", "nothing", "nothing.x")}',
                         f'any[{m("string", d)}]', f'any.list[{m("int", d)}]', f'any.?{self.pick("a", "nope")}.?b', f'{m("dyn", d)} {self.pick("+", "-", "<", "==")} {m("dyn", d)}', f'self.spec.port',
                         f'({m("bool", d)} ? {m("dyn", d)} : {m("dyn", d)})', f'{m("dyn", d)}.{self.pick("size()", "map(x, x)", "a", "startsWith(" + m("string", d) + ")")}')

    def optional(self, d, kind='int'):
        m = self.make
        return self.pick(f'optional.of({m(kind, d)})', f'optional.ofNonZeroValue({m(kind, d)})', 'optional.none()', f'{m("ints" if kind == "int" else "strings", d)}[?{m("int", d)}]',
                         f'optional.of({m(kind, d)}).optMap(o, {m(kind, d)})', f'optional.of({m(kind, d)}).optFlatMap(o, optional.of(o))', f'optional.none().or(optional.of({m(kind, d)}))')

    def quantity(self):
        return self.pick('quantity("1")', 'quantity("1.5Gi")', 'quantity("200m")', 'quantity("1e3")', 'quantity(s)', 'quantity("50k").add(20)', 'quantity("50k").sub(quantity("1"))', 'quantity("-3")')


IPS = ['"127.0.0.1"', '"10.1.2.3"', '"::1"', '"fe80::1"', '"1.2.3"', '"2001:db8::ff"', '"0.0.0.0"', '"224.0.0.1"', '"1.2.3.04"', '"::ffff:1.2.3.4"', 's', '"169.254.1.1"', '"a:b"']
CIDRS = ['"10.0.0.0/8"', '"10.1.2.3/16"', '"::/0"', '"2001:db8::/32"', '"10.0.0.0/33"', '"10.0.0.0"', '"10.0.0.0/08"', 's']
VERSIONS = ['"1.2.3"', '"1.2.3-alpha.1+build"', '"v1.2"', '"01.2.3"', '"1.2"', '"1.2.3-beta"', 's']
URLS = ['"https://user:pw@example.com:8080/a%20b/c?x=1&y=2#f"', '"/path?q"', '"http://[::1]:80/"', '"no"', '"https://example.com/a b"', '"mailto:x"', 's']
ZONES = ['"UTC"', '"America/New_York"', '"+02:30"', '"-11:00"', '"Nowhere"', '"Asia/Kathmandu"']
LEAVES = {
    'int': ['0', '1', '2', '-1', '5', 'n', 'z', 'big', '9223372036854775807', '-9223372036854775808', '0x1F', 'self.spec.replicas', 'm.one', 'self.spec.x__dash__y', 'any.a', 'anyInt'],
    'uint': ['0u', '1u', '18446744073709551615u', 'u'], 'double': ['0.0', '1.5', '-2.25', '1e10', 'f', '123456789.0', '0.1', 'self.spec.ratio', '1e-7', 'double("NaN")', 'double("inf")'],
    'string': ["''", "'a'", "'hello'", "'ä€😀'", "'1'", "'12.5'", "'true'", "'1h'", "'2024-01-01T00:00:00Z'", "'2024-06-01T00:00:00+02:00'", "'a,b,c'", "'x/y~z'", 's', 'e', 'self.spec.name', 'self.spec.free', 'self.metadata.name',
               'self.spec.mode', 'anyString', "r'\\d'", "'one'", "'app'", "' pad '", "'l'"],
    'bool': ['true', 'false', 'yes', 'no', 'self.spec.enabled', '1 / z == 1', 'any.nope'], 'ints': ['[1, 2, 3]', '[]', 'l', 'self.spec.numbers', '[3]', '[2, 2, 1]'],
    'strings': ["['a', 'b']", '[]', 'ls', 'self.spec.tags', "['x']", "['b', 'a', 'c']"], 'map': ["{'a': 1}", '{}', 'm', "{'one': 2}"],
    'bytes': ["b'abc'", 'b', "b''", 'self.spec.blob', "b'\\xff'"], 'duration': ["duration('1s')", 'd', "duration('-1h')", 'self.spec.wait', "duration('0s')", "duration('1000000h')"],
    'timestamp': ['t', "timestamp('2023-12-31T23:59:59Z')", "timestamp('1969-07-20T20:17:40.5+03:30')", 'self.spec.created', 'self.spec.day', "timestamp('9999-12-31T23:59:59Z')", 'timestamp(0)'],
    'dyn': ['any.a', 'any.list', 'any.inner', 'anyInt', 'anyString', 'null', 'dyn(1)', "dyn('a')", 'json.spec.replicas', 'json.spec.tags', 'self.spec.port', 'dyn([])'],
}
# What is no expression, or one with a fault: messages and their places.
FAULTY = ['1 +', '(1', '1)', '[1', "'a", 'a.', 'a..b', 'self.', '1 2', '@', 'a & b', 'for', 'self.spec.if', '{1:2', '{1}', '[1,,2]', 'f(1,)', 'x ? y', '1 ? 2 : ', '!', '-', 'true && ', '|| true', '"\\q"', "'\\u12'", '0x', '1u2', '1.e5',
          '99999999999999999999', '0xFFFFFFFFFFFFFFFFFu', '1e999', "b'\\u1234'", 'has(n)', 'has(1)', 'l.all(1, true)', 'l.map(x.y, 1)', 'l.all(__result__, true)', 'l.all(i, i, true)', 'l.exists(x)', 'l.map(x)', 'nope', 'nope.x', 'nope(1)',
          'n.nope()', 'self.nope', 'self.spec.nope.x', 'n.x', "s.x", '1 + 1u', "'a' + 1", '1 == "a"', '[1, "a"]', '{1: 2, "a": 3}', '1 in 2', 'l.map(x, y)', 'size(1)', 's.size(1)', 'type(1).x', 'int', 'string', 'self{}', 'int{}', 'Nope{a: 1}',
          'duration("x")', 'timestamp("x")', 's.matches("[")', '"%d".format(["a"])', '"%s".format([1, 2])', '"%".format([1])', '"%y".format([1])', '"%.f".format([1.0])', 'optional.of(1).x', 'optional.of(1)[0]', 'n[0]', 'l["a"]', 'm[1]', 'm.x.y',
          'self.spec.tags.nope()', 'has(self.spec.nope)', 'self.spec.items[0].nope', 'self.spec.if', 'n ? 1 : 2', 'yes ? 1 : "a"', 'n && true', '!n', '-s', '-u', 'l + ls', '[?1]', '{?"a": 1}', 'l.sortBy(x, l)', '1.sortBy(x, x)', 'int("x")', 'string({})',
          'l.map(x, x,)', "'''a", '1 < 2 < 3', '1 == 2 == true', 'a ? b : c : d', '(((1)))', '- - 1', '!!true', '--1', '---1', '`a`', 'self.`spec`', '"\\x"', 'r"\\"', 'true.x', 'null.x', 'null', '[1, 2', '{', '}', ']', ')', ',', ':', '?', '.', '1.2.3', '']


def expressions(count, seed):
    made = list(FAULTY)
    for line in (ROOT / 'src/cel/testdata/conformance.jsonl').read_text().splitlines():
        case = json.loads(line)
        if 'expr' in case and 'vars' not in case and 'container' not in case:
            made.append(case['expr'])
    maker = Maker(seed)
    while len(made) < count:
        kind = maker.pick('bool', 'bool', 'int', 'string', 'ints', 'strings', 'double', 'uint', 'map', 'bytes', 'duration', 'timestamp', 'dyn')
        text = maker.make(kind, maker.random.randint(1, 5))
        if len(text) < 2000:
            made.append(text)
    return made[:max(count, 0)]


def build_original(folder):
    """None if it can be asked; otherwise why not."""
    go = subprocess.run([ROOT / 'scripts/go.sh'], capture_output=True, text=True)
    if go.returncode:
        return 'there is no Go of 1.26 or later, which the original needs'
    build = subprocess.run([go.stdout.strip(), 'build', '-o', f'{folder}/original', '.'], cwd=HERE / 'original', capture_output=True, text=True)
    return 'the original does not build: ' + build.stderr.strip() if build.returncode else None


def run_original(lines, folder):
    done = subprocess.run([f'{folder}/original', str(HERE / 'fixtures.json')], input=''.join(line + '\n' for line in lines), capture_output=True, text=True)
    if done.returncode:
        sys.exit('the original failed:\n' + done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_ours(lines, folder, program):
    given, taken = pathlib.Path(folder, 'expressions'), pathlib.Path(folder, 'answers')
    given.write_text(''.join(line + '\n' for line in lines))
    env = dict(os.environ, CEL_COMPARE_FIXTURES=str(HERE / 'fixtures.json'), CEL_COMPARE_EXPRESSIONS=str(given), CEL_COMPARE_ANSWERS=str(taken))
    done = subprocess.run([program, '--gtest_filter=Compare.*', '--gtest_brief=1'], env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit('cel_test failed:\n' + done.stdout + done.stderr)
    return [json.loads(line) for line in taken.read_text().splitlines()]


def differences(their, our):
    fields = ('compile', 'program', 'error', 'value', 'type', 'cost', 'min', 'max')
    return [] if 'panic' in their else [field for field in fields if their.get(field) != our.get(field)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--count', type=int, default=4000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--program', default=str(ROOT / 'build/cel_test'))
    parser.add_argument('--show', type=int, default=20)
    options = parser.parse_args()
    lines = [json.dumps(text, ensure_ascii=False) for text in expressions(options.count, options.seed)]
    with tempfile.TemporaryDirectory() as folder:
        if why := build_original(folder):
            print('skipped: ' + why)
            return 0
        theirs = run_original(lines, folder)
        ours = run_ours(lines, folder, options.program)
        for _ in range(ATTEMPTS):  # Go's maps have no order; any of the original's answers will do
            again = [i for i, (their, our) in enumerate(zip(theirs, ours, strict=True)) if differences(their, our)]
            for i, their in zip(again, run_original([lines[i] for i in again], folder), strict=True):
                theirs[i] = their
    kinds, shown, outcomes = collections.Counter(), 0, collections.Counter()
    for line, their, our in zip(lines, theirs, ours, strict=True):
        outcomes[next((field for field in ('panic', 'compile', 'program', 'error') if field in their), 'value')] += 1
        wrong = differences(their, our)
        if not wrong:
            continue
        kinds[' '.join(wrong)] += 1
        if shown < options.show:
            shown += 1
            print(json.loads(line))
            for field in wrong:
                print(f'    {field}: theirs {their.get(field)!r}\n    {" " * len(field)}    ours {our.get(field)!r}')
    print(f'{len(lines)} expressions ({dict(outcomes)}), {sum(kinds.values())} differ: {dict(kinds)}')
    return 1 if kinds else 0


if __name__ == '__main__':
    sys.exit(main())
