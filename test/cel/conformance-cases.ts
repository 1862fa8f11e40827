import type { SimpleTest } from '@bufbuild/cel-spec/cel/expr/conformance/test/simple_pb.js'
import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js'
import type { Type as SpecType } from '@bufbuild/cel-spec/cel/expr/checked_pb.js'
import { Type_PrimitiveType, Type_WellKnownType } from '@bufbuild/cel-spec/cel/expr/checked_pb.js'
import { getConformanceSuite } from '@bufbuild/cel-spec/testdata/tests.js'
import type { IncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { createRegistry } from '@bufbuild/protobuf'
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt'
import { CelMap } from '../../src/cel/maps.ts'
import { durationOf, timestampOf } from '../../src/cel/moments.ts'
import { toDouble, toInt } from '../../src/cel/numbers.ts'
import * as types from '../../src/cel/types.ts'
import type { Type } from '../../src/cel/types.ts'
import { CelType, CelUint } from '../../src/cel/values.ts'
import type { CelValue } from '../../src/cel/values.ts'

/** One test of cel-spec's conformance data. */
export interface Case {
  readonly file: string
  readonly name: string
  readonly test: SimpleTest
}

/** Every test that needs no protobuf message. */
export function protobufFreeCases(): Case[] {
  return getConformanceSuite()
    .suites.flatMap((file) => casesOf(file, file.name, []))
    .filter((one) => !needsMessages(one))
}

function casesOf(suite: IncrementalTestSuite, file: string, path: readonly string[]): Case[] {
  const own = suite.tests.map((test) => ({ file, name: [...path, test.name].join('/'), test: test.original }))
  return [...own, ...suite.suites.flatMap((inner) => casesOf(inner, file, [...path, inner.name]))]
}

/** Files that are about messages, whatever the single test looks like. */
const messageFiles = new Set(['proto2', 'proto2_ext', 'proto3', 'enums', 'wrappers', 'dynamic', 'block_ext'])
const messageText =
  /TestAllTypes|TestRequired|cel\.expr\.conformance|google\.protobuf\.(?!Timestamp\b|Duration\b)\w|"wrapper"|"messageType"|wrapper_type/

function needsMessages({ file, test }: Case): boolean {
  const text = JSON.stringify(test, (key, value: unknown) => {
    if (key === '$typeName') return undefined
    return typeof value === 'bigint' ? String(value) : value
  })
  return messageFiles.has(file) || messageText.test(text)
}

const registry = createRegistry(TimestampSchema, DurationSchema)

/** A value of the test data in our form. */
export function fromSpecValue({ kind }: Value): CelValue {
  switch (kind.case) {
    case 'nullValue':
    case undefined:
      return null
    case 'int64Value':
      return toInt(kind.value)
    case 'uint64Value':
      return new CelUint(kind.value)
    case 'doubleValue':
      return toDouble(kind.value)
    case 'listValue':
      return kind.value.values.map(fromSpecValue)
    case 'mapValue':
      return fromEntries(kind.value.entries)
    case 'typeValue':
      return new CelType(kind.value)
    case 'objectValue':
      return fromMessage(anyUnpack(kind.value, registry))
    case 'enumValue':
      throw new Error('enums are messages')
    default:
      return kind.value
  }
}

function fromEntries(
  entries: readonly { readonly key?: Value | undefined; readonly value?: Value | undefined }[],
): CelMap {
  const map = new CelMap()
  for (const { key, value } of entries) if (key && value) map.add(fromSpecValue(key), fromSpecValue(value))
  return map
}

function fromMessage(message: unknown): CelValue {
  const { $typeName, seconds, nanos } = message as { $typeName: string; seconds: bigint; nanos: number }
  if ($typeName === TimestampSchema.typeName) return timestampOf(Number(seconds), nanos)
  return durationOf(Number(seconds), nanos)
}

/** A declared type of the test data in our form. */
export function fromSpecType({ typeKind }: SpecType): Type {
  switch (typeKind.case) {
    case 'null':
      return types.nullType
    case 'primitive':
      return {
        kind: Type_PrimitiveType[typeKind.value]
          .replace('INT64', 'int')
          .replace('UINT64', 'uint')
          .toLowerCase() as 'int',
      }
    case 'wellKnown':
      return typeKind.value === Type_WellKnownType.DURATION ? types.durationType : types.timestampType
    case 'listType':
      return types.listType(optionally(typeKind.value.elemType))
    case 'mapType':
      return types.mapType(optionally(typeKind.value.keyType), optionally(typeKind.value.valueType))
    case 'typeParam':
      return { kind: 'variable', name: typeKind.value }
    case 'type':
      return types.typeType(optionally(typeKind.value))
    case 'abstractType': {
      const parameters = typeKind.value.parameterTypes.map(fromSpecType)
      if (typeKind.value.name === 'optional_type') return types.optionalType(parameters[0] ?? types.dynType)
      return types.opaqueType(typeKind.value.name, parameters)
    }
    default:
      return types.dynType
  }
}

function optionally(type: SpecType | undefined): Type {
  return type ? fromSpecType(type) : types.dynType
}
