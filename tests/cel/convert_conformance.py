#!/usr/bin/env python3
"""Makes src/cel/testdata/conformance.jsonl from the public conformance cases of CEL.

    convert_conformance.py FOLDER_OF_JSON_CASES

The cases are those of google/cel-spec's tests/simple/testdata, as JSON. One line a case:
{"name": FILE/SECTION/CASE, "expr": …, "vars": {NAME: [TYPE, VALUE]}, "value": …} with "error" instead of "value" where
evaluation or compiling must fail, "type" where the deduced type is given, "unchecked" and "container" where they matter. Values are
in protobuf's JSON form. Cases that need what Kubernetes' expressions do not have (protobuf messages, enums, functions of
other libraries) come as {"name": …, "out": WHY}.
"""
import json
import pathlib
import re
import sys

OUT = pathlib.Path(__file__).resolve().parent.parent.parent / 'src' / 'cel' / 'testdata' / 'conformance.jsonl'
MESSAGES = re.compile(r'TestAllTypes|NestedMessage|NestedTestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|google\.protobuf\.\w+\s*\{'
                      r'|conformance\.proto|GlobalEnum|proto\.(?:get|has)Ext|Value\s*\{|ListValue|Struct\s*\{|Any\s*\{')
LIBRARIES = {'math_ext': 'math', 'encoders_ext': 'encoders', 'block_ext': 'block', 'proto2': 'protobuf', 'proto2_ext': 'protobuf', 'proto3': 'protobuf',
             'enums': 'protobuf', 'wrappers': 'protobuf', 'unknowns': 'unknowns'}
WELL_KNOWN = {'TIMESTAMP': 'timestamp', 'DURATION': 'duration', 'ANY': 'any'}
PRIMITIVE = {'BOOL': 'bool', 'INT64': 'int', 'UINT64': 'uint', 'DOUBLE': 'double', 'STRING': 'string', 'BYTES': 'bytes'}


class Unsupported(Exception):
    pass


def type_text(type_):
    kind, value = next(iter(type_.items()))
    if kind == 'primitive':
        return PRIMITIVE[value]
    if kind == 'wellKnown':
        return WELL_KNOWN[value]
    if kind == 'null':
        return 'null_type'
    if kind == 'dyn':
        return 'dyn'
    if kind == 'listType':
        return f'list({type_text(value.get("elemType", {"dyn": {}}))})'
    if kind == 'mapType':
        return f'map({type_text(value["keyType"])}, {type_text(value["valueType"])})'
    if kind == 'type':
        return f'type({type_text(value)})' if value else 'type'
    if kind == 'abstractType':
        inner = ', '.join(type_text(parameter) for parameter in value.get('parameterTypes', []))
        return f'{value["name"]}({inner})'
    raise Unsupported('protobuf')


def check_value(value):
    if 'objectValue' in value and value['objectValue'].get('@type', '').split('/')[-1] not in (
            'google.protobuf.Timestamp', 'google.protobuf.Duration'):
        raise Unsupported('protobuf')
    if 'enumValue' in value:
        raise Unsupported('protobuf')
    for item in value.get('listValue', {}).get('values', []):
        check_value(item)
    for entry in value.get('mapValue', {}).get('entries', []):
        check_value(entry['key'])
        check_value(entry['value'])


def convert(file, section, test):
    case = {'name': f'{file}/{section}/{test["name"]}'}
    try:
        if file in LIBRARIES:
            raise Unsupported(LIBRARIES[file])
        text = test['expr'] + ' ' + test.get('container', '')
        if MESSAGES.search(text):
            raise Unsupported('protobuf')
        case['expr'] = test['expr']
        variables = {}
        for declaration in test.get('typeEnv', []):
            if 'ident' not in declaration:
                raise Unsupported('functions of its own')
            variables[declaration['name']] = [type_text(declaration['ident']['type']), None]
        for name, binding in test.get('bindings', {}).items():
            check_value(binding['value'])
            variables.setdefault(name, ['dyn', None])[1] = binding['value']
        if variables:
            case['vars'] = variables
        for key, name in (('container', 'container'), ('disableCheck', 'unchecked'), ('checkOnly', 'check_only')):
            if test.get(key):
                case[name] = test[key]
        if 'evalError' in test:
            case['error'] = test['evalError']['errors'][0].get('message', '')
        else:
            typed = test.get('typedResult', {})
            if 'deducedType' in typed:
                case['type'] = type_text(typed['deducedType'])
            value = test.get('value', typed.get('result', {'boolValue': True} if 'typedResult' not in test else None))
            if value is not None:
                check_value(value)
                case['value'] = value
    except Unsupported as reason:
        return {'name': case['name'], 'out': str(reason)}
    return case


def main():
    lines = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob('*.json')):
        data = json.loads(path.read_text())
        for section in data.get('section', []):
            for test in section.get('test', []):
                lines.append(json.dumps(convert(data['name'], section['name'], test), ensure_ascii=False, separators=(',', ':')))
    OUT.write_text('\n'.join(lines) + '\n')
    print(f'{len(lines)} cases, {sum(chr(34) + "out" + chr(34) in line for line in lines)} left out')


if __name__ == '__main__':
    main()
