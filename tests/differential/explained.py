"""What differs between two right servers, each with its reason. A rule takes out of both answers what it explains, no more; what
then still differs is a fault."""
import copy
import json
import re

# Controllers inside kube-apiserver write the status of these in the background, whenever they get to it.
BACKGROUND_KINDS = {'FlowSchema', 'PriorityLevelConfiguration', 'APIService', 'APIServiceList', 'FlowSchemaList',
                    'PriorityLevelConfigurationList', 'CustomResourceDefinition', 'CustomResourceDefinitionList'}
BACKGROUND_COLUMNS = {'Available', 'MissingPL'}
SERVICE_ADDRESS = re.compile(r'10\.96\.\d+\.\d+')
TYPE_NAME = re.compile(r'selfType\d+')
MAP_ENTRY = re.compile(r'\[[^\]]*[^\]\d][^\]]*\]')
TYPED_FAULTS = re.compile(r'^(failed to create typed (?:patch|live) object .*?|failed to create manager for existing fields: .*? to smd typed): (?:errors:\n)?(.*)$', re.DOTALL)


def background_status(case_kind, answer):
    """The status of flow control and API services, and the record of who wrote it, is a matter of the moment."""
    body = answer['body']
    if not isinstance(body, dict) or case_kind not in BACKGROUND_KINDS and body.get('kind') not in BACKGROUND_KINDS:
        return
    for item in [body, *(body.get('items') or []), *(row.get('object') or {} for row in body.get('rows') or [])]:
        if not isinstance(item, dict):
            continue
        if isinstance(item.get('metadata'), dict):
            item['metadata'].pop('managedFields', None)
        if item.get('kind') != 'Status':
            item.pop('status', None)
    columns = [column.get('name') for column in body.get('columnDefinitions') or []]
    for row in body.get('rows') or []:
        for index, name in enumerate(columns):
            if name in BACKGROUND_COLUMNS and index < len(row.get('cells') or []):
                row['cells'][index] = '<background>'
    if body.get('kind') == 'Status':
        for cause in (body.get('details') or {}).get('causes') or []:
            cause['field'] = re.sub(r'status\.conditions\[\d+\]', 'status.conditions[*]', cause.get('field', ''))
        body['message'] = re.sub(r'status\.conditions\[\d+\]', 'status.conditions[*]', body.get('message', ''))


def go_map_order(_, answer):
    """Go goes through a map in any order: faults of its entries come so, the managers of a conflict, and the faults of an
    object that does not fit its schema."""
    body = answer['body']
    if not isinstance(body, dict) or body.get('kind') != 'Status':
        return
    details = body.get('details') or {}
    found = details.get('causes') or []
    if answer['code'] == 409:
        found.sort(key=lambda cause: (cause.get('field', ''), cause.get('message', '')))
    else:
        details_sorted, run, group = [], [], None
        for cause in [*found, None]:
            here = None if cause is None else entries_group(cause)
            if here != group or here is None:
                details_sorted += sorted(run, key=lambda one: (one.get('field', ''), one.get('message', '')))
                run, group = [], here
            if cause is not None:
                run.append(cause)
        details_sorted += run
        found[:] = details_sorted
    typed = TYPED_FAULTS.match(body.get('message', ''))
    if typed:
        # Which of two entries with one key is told of first, and how a list within a wrong value looks, follows from the order, too.
        lines = {line.strip() for line in typed[2].split('\n')}
        # A struct is left at the first of its fields that is not known: which of the others were looked at is chance.
        parents = {line.split(': ')[0].rpartition('.')[0] for line in lines if line.endswith(': field not declared in schema')}
        for parent in parents:
            if any(parent.startswith(f'{other}.') for other in parents):
                continue
            lines = {line for line in lines if not line.startswith(f'{parent}.')} | {f'{parent}: <fields>'}
        body['message'] = typed[1] + ': ' + '\n'.join(sorted(lines))
    elif len(found) > 1:
        body['message'] = '<the causes>'


def entries_group(cause):
    """What the entries of one map have in common, or None."""
    field = cause.get('field', '')
    if MAP_ENTRY.search(field):
        return MAP_ENTRY.split(field)[0]
    if field.endswith(('annotations', 'labels', 'matchLabels', 'allocatedResources', 'allocatedResourceStatuses', 'capacity', 'attributes', 'nodeSelector', 'counters')):
        return field
    if re.search(r'\.metrics\[\d+\]\.[a-zA-Z]+$', field) and cause.get('message', '').endswith('must populate the given metric source only'):
        return field.rsplit('.', 1)[0]
    # Names of entries that are checked without saying where they stand: named by their value alone.
    return field if field.endswith(('sharedCounters', 'metadata')) or '.counters' in field else None


def schema_map_order(kind, answer):
    """The properties of a definition's schema are a map: faults of a definition, and of an object that does not fit it, come in any order."""
    body = answer['body']
    if kind in ('CustomResourceDefinition', 'Thing') and isinstance(body, dict) and body.get('kind') == 'Status':
        causes = (body.get('details') or {}).get('causes') or []
        causes.sort(key=lambda cause: (cause.get('field', ''), cause.get('message', '')))
        if len(causes) > 1:
            body['message'] = '<the causes>'
    if kind == 'CustomResourceDefinition' and any('unrecognized format' in warning for warning in answer['warnings']):
        answer['warnings'].sort()


def rules_of_a_user(_, answer):
    """Roles are gone through in any order."""
    status = answer['body'].get('status') if isinstance(answer['body'], dict) else None
    if not isinstance(status, dict):
        return
    for name in ('resourceRules', 'nonResourceRules'):
        if isinstance(status.get(name), list):
            status[name].sort(key=lambda rule: json.dumps(rule, sort_keys=True))


def names_of_types(_, answer):
    """The type of a rule's self has a random name, which faults of the rule tell."""
    body = answer['body']
    if not isinstance(body, dict) or body.get('kind') != 'Status':
        return
    body['message'] = TYPE_NAME.sub('selfType', body.get('message', ''))
    for cause in (body.get('details') or {}).get('causes') or []:
        cause['message'] = TYPE_NAME.sub('selfType', cause.get('message', ''))


def second_of_writing(kind, answer):
    """Times have whole seconds: managers whose writes fell into one are in order of their names, others in order of time. Taints of
    devices get the time of the write, so that an update may change them or not."""
    body = answer['body']
    if not isinstance(body, dict):
        return
    if kind == 'ResourceSlice' and answer['code'] == 409:
        causes = (body.get('details') or {}).get('causes') or []
        for cause in causes:
            cause['message'] = '<whose>' if cause.get('field') == '.spec.devices' else cause.get('message')
        body['message'] = '<conflicts>' if causes else body.get('message')
    for item in [body, *(body.get('items') or []), *((row or {}).get('object') or {} for row in body.get('rows') or [])]:
        metadata = item.get('metadata') if isinstance(item, dict) else None
        if isinstance(metadata, dict) and isinstance(metadata.get('managedFields'), list):
            if kind == 'ResourceSlice':
                metadata['managedFields'] = []
            metadata['managedFields'].sort(key=lambda entry: (str(entry.get('operation')), str(entry.get('manager')), str(entry.get('subresource'))))


def given_addresses(_, answer):
    """Addresses of services that were given out at random may stand in messages."""
    body = answer['body']
    if not isinstance(body, dict) or body.get('kind') != 'Status':
        return
    body['message'] = SERVICE_ADDRESS.sub('<address>', body.get('message', ''))
    for cause in (body.get('details') or {}).get('causes') or []:
        cause['message'] = SERVICE_ADDRESS.sub('<address>', cause.get('message', ''))


def versions_in_texts(_, answer):
    """A version of the client's own that a message repeats, or that stands in YAML which this tool can't read (`<<`)."""
    body = answer['body']
    if isinstance(body, str):
        answer['body'] = re.sub(r'resourceVersion: "\d+"', 'resourceVersion: <rv>', body)
    elif isinstance(body, dict) and body.get('kind') == 'Status':
        body['message'] = re.sub(r'ResourceVersion in the precondition \(\d+\)', 'ResourceVersion in the precondition (<rv>)', body.get('message', ''))


def upstream_panics(_, peer, ours):
    """Some writes make upstream panic: its client sees a connection that is closed, ours an answer."""
    return peer['code'] == 0 and 'RemoteDisconnected' in str(peer['body']) and ours['code'] != 0


def directives_in_map_order(request, peer, ours):
    """A strategic patch of a list and of what is to be taken out of it: which of the two comes first follows from a map's order, and
    so whether the types of their items are compared."""
    text = request.body if isinstance(request.body, str) else ''
    return '$deleteFromPrimitiveList/' in text and any('element types are not identical' in str(side['body']) for side in (peer, ours))


def may_end_early(request):
    """Upstream's cache follows etcd: a watch of one second may be over before it has caught up, or before the bookmark that ends what
    is there already, which a timer of a second sends. So one that differs is asked again; it must then agree."""
    return request.method == 'GET' and 'watch=' in request.path and 'timeoutSeconds=1' in request.path


def parts_of_a_second(request, peer, ours):
    """Stored times have whole seconds, which is how ours compares them from the start; upstream compares what came."""
    text = request.body if isinstance(request.body, str) else ''
    if not re.search(r'T\d\d:\d\d:\d\d\.\d+Z', text):
        return False
    found = [(side['body'].get('details') or {}).get('causes') or [] if isinstance(side['body'], dict) else [] for side in (peer, ours)]
    more = [cause for cause in found[0] if cause not in found[1]]
    return bool(more) and all(cause['message'].endswith('must be equal to or after `startTime`') for cause in more) and all(cause in found[0] for cause in found[1])


def twice_in_raw_json(request, peer, ours):
    """Raw JSON is kept by upstream with members that stand twice, and once by ours: what may not be changed is told with it."""
    causes = [(side['body'].get('details') or {}).get('causes') or [{}] if isinstance(side['body'], dict) else [{}] for side in (peer, ours)]
    return request.operation == 'doubled' and all(len(found) == 1 and found[0].get('field') == 'data' and found[0].get('message', '').endswith('field is immutable') for found in causes)


def without_effect(request, peer, ours):
    """Whether the peer may be asked again. What it then answers at times, in the order of a map of its own, is right as well: the
    only proof of chance that needs no rule."""
    refused = peer['code'] >= 400 and ours['code'] >= 400
    return refused and not callable(request.body) or request.method == 'GET' and 'watch' not in request.path


def generated_names(request, peer, ours):
    """Names that were made from generateName, where a refusal tells them: the last five letters are drawn."""
    text = request.body if isinstance(request.body, str) else ''
    if 'generateName' not in text or peer['code'] != 422 or ours['code'] != 422:
        return False
    names = [(side['body'].get('details') or {}).get('name', '') for side in (peer, ours)]
    told = [json.dumps(side['body']).replace(name, '<name>') for side, name in zip((peer, ours), names)]
    return len(names[0]) > 5 and names[0][:-5] == names[1][:-5] and told[0] == told[1]


RULES = [background_status, go_map_order, second_of_writing, given_addresses, rules_of_a_user, names_of_types, schema_map_order, versions_in_texts]


def both(kind, request, peer, ours):
    """The two answers without what is explained, and the name of the rule that made them equal, if any did."""
    if peer == ours:
        return peer, ours, None
    for rule in (upstream_panics, directives_in_map_order, parts_of_a_second, twice_in_raw_json, generated_names):
        if rule(request, peer, ours):
            return ours, ours, rule.__name__
    peer, ours = copy.deepcopy(peer), copy.deepcopy(ours)
    for rule in RULES:
        for answer in (peer, ours):
            rule(kind, answer)
        if peer == ours:
            return peer, ours, rule.__name__
    return peer, ours, None
