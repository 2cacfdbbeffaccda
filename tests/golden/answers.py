"""What is done to an answer before it is compared: what differs from run to run becomes a placeholder."""
import datetime
import json
import re
import time

SUFFIX = '[bcdfghjklmnpqrstvwxz2456789]{5}'  # of generated names
PART = re.compile(r'\["(?P<quoted>[^"]*)"\]|\[(?P<index>[^\]]*)\]|(?P<name>[^.\[\]]+)')


# Paths: a.b[0]["k/s"][type=Ready].#  where # is a length and [*] every element.

def look_up(value, path):
    """(found, value) of a path."""
    try:
        return True, _follow(value, [(m.lastgroup, m[m.lastgroup]) for m in PART.finditer(path)])
    except (LookupError, TypeError, ValueError, AttributeError):
        return False, None


def _follow(value, parts):
    for at, (sort, text) in enumerate(parts):
        if sort == 'index' and text == '*':
            return [_or_none(element, parts[at + 1:]) for element in value]
        if sort == 'index' and '=' in text:
            name, wanted = text.split('=', 1)
            matching = [element for element in value if str(element.get(name)) == wanted]
            value = matching[0]
        elif sort == 'index':
            value = value[int(text)]
        elif sort == 'name' and text == '#':
            value = len(value or [])
        else:
            value = value[text]
    return value


def _or_none(value, parts):
    try:
        return _follow(value, parts)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def remove(value, path):
    """Takes a path out; the part * is every member or element."""
    _remove(value, [m[m.lastgroup] for m in PART.finditer(path)])


def _remove(value, parts):
    part, rest = parts[0], parts[1:]
    if isinstance(value, list):
        chosen = range(len(value)) if part == '*' else [int(part)] if part.isdigit() and int(part) < len(value) else []
    elif isinstance(value, dict):
        chosen = list(value) if part == '*' else [part] if part in value else []
    else:
        return
    for which in reversed(chosen):
        if rest:
            _remove(value[which], rest)
        else:
            del value[which]


# Placeholders.

UID = re.compile(r'\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b')
TIME = re.compile(r'(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z')
IN_TEXT = [(re.compile(pattern), placeholder) for pattern, placeholder in [
    (r'eyJ[\w-]+\.[\w-]+\.[\w-]+', '<jwt>'),
    (r'(?s)-----BEGIN CERTIFICATE-----.*', '<pem>'),
    (f'kube-api-access-{SUFFIX}', 'kube-api-access-<rand>'),
    # Messages that name revisions.
    (r'(ResourceVersion in (?:precondition|object meta): )\d+', r'\1<rv>'),
    (r'(esource ?[vV]ersion:? )\d+( \(\d+\))?', r'\1<rv>'),
    (r'(, current: )\d+', r'\1<rv>'),
    # Ports that were given out.
    (r'(nodePort: Invalid value: |Invalid value: (?=\d+: provided port))3\d{4}', r'\1<port>'),
    (r'(ResourceVersion in record )\(\d+\)', r'\1(<rv>)'),
    # Whole objects in messages: as JSON, then as the internal structures of the real server.
    (r'Invalid value: "\{\\"apiVersion.*\}": ', 'Invalid value: <object>: '),
    (r'(resourceVersion\\*":\\*")\d+', r'\1<rv>'),
    (r'Invalid value: \{"[A-Z].*?\}: ', 'Invalid value: {<internal>}: '),
    (r'(?:https://)?127\.0\.0\.1:\d+', '<server>'),
    (r'X509SHA256=[0-9a-f]{64}', 'X509SHA256=<hash>'),
]]
BUILD = ('gitCommit', 'gitVersion', 'gitTreeState', 'buildDate', 'goVersion', 'compiler', 'platform',
         'emulationMajor', 'emulationMinor', 'minCompatibilityMajor', 'minCompatibilityMinor')
BY_NAME = {'storageVersionHash': '<hash>', 'continue': '<continue>', **{name: '<s>' for name in BUILD}}
# Their entries in managedFields come and go with timing.
BACKGROUND_MANAGERS = ('kube-controller-manager', 'validatingadmissionpolicy-status', 'service-cidr-controller')
NEAR = 2 * 24 * 3600  # seconds; times further from now than this were written by the scenario


class Normaliser:
    """Placeholders for one scenario. `captured` maps values that the scenario has a name for to that name."""

    def __init__(self, namespace, server_port, keep_managed_fields=False):
        self.namespace, self.server_port = namespace, server_port
        self.captured = {}
        self.keep_managed_fields = keep_managed_fields

    def text(self, text):
        for value, name in self.captured.items():
            if len(value) >= 8:  # shorter ones stand in words by accident
                text = text.replace(value, name)
        text = UID.sub('<uid>', text.replace(self.namespace, '${ns}'))
        for pattern, placeholder in IN_TEXT:
            text = pattern.sub(placeholder, text)
        return TIME.sub(self._time, text)

    @staticmethod
    def _time(match):
        try:
            when = datetime.datetime.fromisoformat(match[1] + '+00:00').timestamp()
        except ValueError:
            return match[0]  # none at all, as requests may have it
        if abs(when - time.time()) >= NEAR:
            return match[0]
        return '<microtime>' if match[2] else '<time>'

    def value(self, value, name=''):
        """`name`: of the field that holds the value, or the list around it."""
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.value(element, name) for element in value]
        if isinstance(value, str):
            return self._string(value, name)
        if name in ('nodePort', 'healthCheckNodePort') and value:
            return self.captured.get(str(value), '<port>')
        if name == 'targetPort' and value == self.server_port:
            return '<server port>'
        return value

    def _object(self, value):
        result = {}
        for name, member in value.items():
            if name == 'managedFields' and isinstance(member, list):
                if self.keep_managed_fields:
                    kept = [entry for entry in member if entry.get('manager') not in BACKGROUND_MANAGERS]
                    result[name] = self.value(kept)
            elif name == 'columnDefinitions':
                result[name] = [{k: v for k, v in column.items() if k != 'description'} for column in member or []]
            else:
                result[self.text(name)] = self.value(member, name)
        prefix, own = value.get('generateName'), value.get('name')
        if isinstance(prefix, str) and isinstance(own, str) and own not in self.captured:
            prefix = prefix[:58]
            if re.fullmatch(re.escape(prefix) + SUFFIX, own):
                result['name'] = self.text(prefix) + '<rand>'
        return result

    def _string(self, value, name):
        if name == 'resourceVersion':
            return value if value in ('', '0') else self.captured.get(value, '<rv>')
        if name in BY_NAME:
            return BY_NAME[name] if value else value
        if name in ('clusterIP', 'clusterIPs') and value not in ('', 'None'):
            return self.captured.get(value, '<ip>')
        if name == 'certificate':
            return '<cert>'
        if name == 'cells':
            return self._cell(value)
        return self.text(value)

    def _cell(self, value):
        value = re.sub(r'\b10(?:\.\d+){3}', '<ip>', value)
        value = re.sub(r':3\d{4}/', ':<port>/', value)
        return '<age>' if re.fullmatch(r'(?:\d+[smhdy])+', value) else self.text(value)


def shape(value, merge):
    """Types in place of values; a list is the merged shape of its elements."""
    if isinstance(value, dict):
        return {name: shape(member, merge) for name, member in value.items()}
    if isinstance(value, list):
        merged = None
        for element in value:
            of = shape(element, merge)
            merged = merge(merged, of) if isinstance(of, dict) else of
        return [] if merged is None else [merged]
    return f'<{type(value).__name__}>'


def differences(recorded, answer, path=''):
    """Lines that tell how two JSON values differ; none if they don't."""
    if isinstance(recorded, dict) and isinstance(answer, dict):
        lines = []
        for name in [*recorded, *(name for name in answer if name not in recorded)]:
            at = f'{path}.{name}' if path else name
            if name not in answer:
                lines.append(f'-{at}={_brief(recorded[name])}')
            elif name not in recorded:
                lines.append(f'+{at}={_brief(answer[name])}')
            else:
                lines += differences(recorded[name], answer[name], at)
        return lines
    if isinstance(recorded, list) and isinstance(answer, list):
        lines = [] if len(recorded) == len(answer) else [f'{path}: {len(recorded)} items, got {len(answer)}']
        for number, pair in enumerate(zip(recorded, answer)):
            lines += differences(*pair, f'{path}[{number}]')
        return lines
    if recorded == answer and isinstance(recorded, bool) == isinstance(answer, bool):
        return []
    return [f'{path}: {_brief(recorded)} got {_brief(answer)}']


def _brief(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + '...'
