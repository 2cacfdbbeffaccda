#!/usr/bin/env python3
"""Checks how the source is laid out: which layer includes which, what only base/ may touch, sizes, words, texts of the API.

    tidy.py [--update-ratchet [--allow-new]]

tidy_ratchet.txt has the exceptions with their numbers. They may only shrink: --update-ratchet lowers them and drops those
that are none any more. The last line is "N passed, M failed", counting rules.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RATCHET = ROOT / 'tests' / 'tidy_ratchet.txt'
FILE_LINES, FUNCTION_LINES = 600, 100

# Libraries that cost too much to be parsed by everyone who includes a header.
HEAVY = re.compile(r'#include <(boost/|nghttp2/|wslay/|rocksdb/|grpc|google/protobuf/|spdlog/|simdjson|CLI/|re2/|yaml\.h)')

# What only base/ may touch. A test or a simulator that gets past the Runtime can't be replayed.
DIRECT = re.compile(r'std::j?thread\b|std::async\b|(?:system|steady|high_resolution)_clock::now|random_device|sleep_(?:for|until)\b'
                    r'|\b(?:u|nano)sleep\(|(?<![\w:.>])::socket\(|\btime\((?:nullptr|NULL|0)\)|\bclock_gettime\(|\bgettimeofday\('
                    r'|(?<![\w:.>])s?rand\(')

# Words that say how the text came about instead of what it says, machine paths, hosts of package registries.
WORDS = [re.compile(pattern, flags) for pattern, flags in [
    (r'\b(?:this|last|next|previous|earlier|later|another|our) session\b', re.I),
    (r'\b(?:AI|LLM|coding|language[- ]model) (?:agent|assistant|session)', re.I),
    (r'\bsub-?agents?\b', re.I),
    (r'\bLLMs?\b|\bChatGPT\b|\bClaude\b|\bartificial intelligence\b', 0),
    (r'\bissues? #?\d+\b', re.I),
    (r'(?<![\w.$}/])/work/|(?<![\w.$}/:])/root/(?!\$)', 0),
    (r'\b(?:pypi\.org|pythonhosted\.org|proxy\.golang\.org|sum\.golang\.org|registry\.npmjs\.org|crates\.io|deb\.debian\.org)\b', 0),
]]


def tracked():
    """The files of the project, as paths from the root."""
    listed = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split('\n')
    return [pathlib.PurePosixPath(name) for name in sorted(set(listed)) if name and (ROOT / name).is_file()]


def read(path):
    return (ROOT / path).read_text(errors='replace')


BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\'', re.S)


def code(text):
    """The text with comments, strings and character literals blanked; lines stay where they are."""
    return BLANKED.sub(lambda match: '\n' * match[0].count('\n') + ' ', text)


class Layers:
    """src/layers.cmake: which folder is which layer, and what each may use."""

    def __init__(self):
        self.folders, uses = {}, {}
        for call in re.finditer(r'^homeostat_layer\(([^)]*)\)', read('src/layers.cmake'), re.M):
            words = call[1].split()
            options = collections.defaultdict(list)
            key = 'NAME'
            for word in words:
                if word in ('FOLDER', 'EXCLUDE', 'DEPS', 'LIBS', 'SOURCES'):
                    key = word
                else:
                    options[key].append(word)
            name = options['NAME'][0]
            self.folders[options['FOLDER'][0] if options['FOLDER'] else name] = name
            uses[name] = options['DEPS']
        self.allowed = {name: self._closure(name, uses) for name in uses}

    @staticmethod
    def _closure(name, uses):
        reached, waiting = set(), [name]
        while waiting:
            layer = waiting.pop()
            if layer not in reached:
                reached.add(layer)
                waiting += uses.get(layer, [])
        return reached

    def of(self, path):
        """The layer of a path below src/, include/ or the generated sources; None for what is none (cli/)."""
        parts = path.split('/')
        if parts[0] == 'homeostat':
            # Views of the groups stand beside the registry: homeostat/api/core/v1.h.
            return parts[1] if parts[1] in self.folders else None
        for length in (2, 1):
            if layer := self.folders.get('/'.join(parts[:length])):
                return layer
        return None


def check_layers(files):
    """A file includes its own layer and those that it may use; internal/ is for its own layer alone."""
    layers = Layers()
    for path in files:
        if path.suffix not in ('.h', '.cc') or path.parts[0] not in ('src', 'include'):
            continue
        below = '/'.join(path.parts[1:])
        layer = layers.of(below)
        for number, line in enumerate(read(path).splitlines(), 1):
            match = re.match(r'#include "([^"]+)"', line)
            if not match or '/' not in match[1]:
                continue
            other = layers.of(match[1])
            if layer and other is None and match[1].split('/')[0] in ('cli', 'explain', 'testing'):
                yield f'{path}:{number}: {layer} includes {match[1]}, which is above every layer'
            if layer and other and other not in layers.allowed[layer]:
                yield f'{path}:{number}: {layer} may not include {match[1]} (see src/layers.cmake)'
            if '/internal/' in match[1] and layer != other:
                yield f'{path}:{number}: {match[1]} is internal to {other}'
            if path.parts[0] == 'include' and not match[1].startswith('homeostat/'):
                yield f'{path}:{number}: a public header includes {match[1]}, which is not public'


def check_direct(files):
    """Clock, threads, randomness, sleep and sockets only in base/: everything else asks its Runtime."""
    for path in files:
        if path.suffix not in ('.h', '.cc') or path.parts[0] not in ('src', 'include') or path.parts[:2] == ('src', 'base'):
            continue
        for number, line in enumerate(code(read(path)).split('\n'), 1):
            if match := DIRECT.search(line):
                yield f'{path}:{number}: {match[0]} outside src/base'


def check_headers(files):
    """A header says first what it is, is included once, and has no heavy library."""
    for path in files:
        if path.suffix != '.h' or path.parts[0] not in ('src', 'include', 'fuzz', 'tools', 'bench'):
            continue
        text = read(path)
        if not text.startswith(('//', '/*')):
            yield f'{path}:1: does not begin with a comment that says what it is'
        if '#pragma once' not in text:
            yield f'{path}: no #pragma once'
        for number, line in enumerate(text.splitlines(), 1):
            if (match := HEAVY.match(line)) and path.parts[0] != 'tools':
                yield f'{path}:{number}: a heavy library in a header: {match[0][10:]}'


def check_words(files):
    """The project speaks of itself only."""
    for path in files:
        if path.suffix in ('.gz', '.sum', '.tsv', '.png') or path.name == 'tidy.py' or 'recorded' in path.parts:
            continue
        for number, line in enumerate(read(path).splitlines(), 1):
            for pattern in WORDS:
                if match := pattern.search(line):
                    yield f'{path}:{number}: "{match[0]}"'


def check_rooms(files):
    """Every folder of src/ says what lives in it."""
    folders = {path.parts[1] for path in files if path.parts[0] == 'src' and len(path.parts) > 2}
    for folder in sorted(folders):
        if not (ROOT / 'src' / folder / 'README.md').exists():
            yield f'src/{folder}: no README.md'


SCOPE = re.compile(r'\b(?:namespace|class|struct|union|enum|extern)\b')


def functions(text):
    """(name, lines) of the functions in C++ text, lambdas and local classes as part of theirs."""
    # Directives, with their continued lines, may hold half a brace.
    text = re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', lambda directive: '\n' * directive[0].count('\n'), code(text), flags=re.M)
    stack, head, line, head_line = [], '', 1, 1
    for char in text:
        if char == '\n':
            line += 1
        if char == '{':
            outside = all(kind == 'scope' for kind, _, _ in stack)
            before = head.split('(')[0]
            if outside and SCOPE.search(before) and not (SCOPE.search(before)[0] in ('struct', 'class', 'enum') and '(' in head):
                stack.append(('scope', '', 0))
            elif outside and '(' in head and '=' not in re.sub(r'operator\s*[=!<>]+', '', before):
                name = re.findall(r'[\w:~]+|operator\S+', before)
                stack.append(('function', name[-1] if name else '?', head_line))
            else:
                stack.append(('block', '', 0))
            head = ''
        elif char == '}':
            if stack:
                kind, name, start = stack.pop()
                if kind == 'function':
                    yield name, line - start + 1
            head = ''
        elif char == ';':
            head = ''
        else:
            if not head.strip():
                head_line = line
            head += char


FIELD = re.compile(r'  (?:optional|repeated) [\w.]+ (\w+) = |  map<[^>]+> (\w+) = ')
# The fields of these are the wire's; users never see them.
ONE_VALUE = re.compile(r'form: (?!STRUCT)\w+')


def undescribed(text):
    """The messages and fields of one file of api/ without a comment: what `kubectl explain` would have no text for.

    They are sentences, and no line is longer than 130 columns.
    """
    message, above, bare, inside = '', '', [], []
    for line in text.splitlines() + ['message end {']:
        if line.lstrip().startswith('//'):
            above = line.strip('/ ') if len(line) <= 130 else ''
            continue
        described, above = above.endswith(('.', '.)')), ''
        if match := re.match(r'message (\w+) {', line):
            bare, inside, message = bare + inside, [], match[1]
            if not described:
                bare.append(message)
        elif (match := FIELD.match(line)) and message and not described and 'inline: true' not in line:
            inside.append(f'{message}.{match[1] or match[2]}')
        elif ONE_VALUE.search(line):
            message = ''
    return bare[:-1]


def over_limits(files):
    """What is over a limit: {'file PATH': lines, 'function PATH NAME': lines, 'undescribed PATH': messages and fields}."""
    over = {}
    for path in files:
        if path.suffix == '.proto' and path.parts[0] == 'api' and path.name != 'schema.proto':
            if names := undescribed(read(path)):
                over[f'undescribed {path}'] = len(names)
        if path.suffix not in ('.h', '.cc', '.c', '.py', '.sh', '.cmake'):
            continue
        text = read(path)
        if (lines := text.count('\n')) > FILE_LINES:
            over[f'file {path}'] = lines
        if path.suffix in ('.h', '.cc', '.c'):
            for name, lines in functions(text):
                if lines > FUNCTION_LINES:
                    key = f'function {path} {name}'
                    over[key] = max(over.get(key, 0), lines)
    return over


def read_ratchet():
    known = {}
    if RATCHET.exists():
        for line in RATCHET.read_text().splitlines():
            if line and not line.startswith('#'):
                key, number = line.rsplit(' ', 1)
                known[key] = int(number)
    return known


def check_limits(files):
    """Files of at most 600 lines, functions of at most 100, texts for all of the API, but for the exceptions that are listed."""
    known, over = read_ratchet(), over_limits(files)
    for key, lines in sorted(over.items()):
        if lines > known.get(key, 0):
            listed = f', {known[key]} listed' if key in known else ''
            if key.startswith('undescribed'):
                path = key.split(' ', 1)[1]
                yield f'{key}: {lines} messages and fields without a text (none may be{listed}): {" ".join(undescribed(read(path))[:20])}'
                continue
            limit = FILE_LINES if key.startswith('file') else FUNCTION_LINES
            yield f'{key}: {lines} lines (at most {limit}{listed})'
    for key, lines in sorted(known.items()):
        if over.get(key, 0) < lines:
            yield f'{key}: {lines} listed in {RATCHET.name}, now {over.get(key, "within the limit")}; run tidy.py --update-ratchet'


def update_ratchet(files, allow_new):
    known, over = read_ratchet(), over_limits(files)
    kept = {key: min(lines, known.get(key, lines)) for key, lines in over.items() if allow_new or key in known}
    RATCHET.write_text('# Files and functions over the limits, with their lines; files of the API with what has no text yet. The numbers only shrink.\n'
                       + ''.join(f'{key} {lines}\n' for key, lines in sorted(kept.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--update-ratchet', action='store_true')
    parser.add_argument('--allow-new', action='store_true')
    options = parser.parse_args()
    files = tracked()
    if options.update_ratchet:
        update_ratchet(files, options.allow_new)
    failed = 0
    rules = [check_layers, check_direct, check_headers, check_words, check_rooms, check_limits]
    for rule in rules:
        found = list(rule(files))
        failed += bool(found)
        for problem in found:
            print(problem)
        if found:
            print(f'FAIL {rule.__doc__} ({len(found)})')
    print(f'{len(rules) - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
