import { apiVersionOf, groupResource, type KubeObject } from '../../kube/object.ts'
import type { BuiltinKind } from '../schema/types/builtin-kinds.ts'
import { decodeObject } from '../schema/decode/decode.ts'
import { defaultObject } from '../schema/defaults/default-object.ts'
import { builtinSchema } from '../schema/types/object-schema.ts'
import { validateCreate, validateUpdate } from '../schema/validation/validate-object.ts'
import { Document } from '../store/document.ts'
import { builtinRules } from './rules/builtin-rules.ts'
import { conversionOf } from './conversion/conversion.ts'
import { fieldValues, selectableFields } from './selectable-fields.ts'
import type { ScalePaths, ServedKind } from './contract/served-kind.ts'

/** The served form of a kind from the type table. */
export function builtinServedKind(kind: BuiltinKind): ServedKind {
  const { group, version, plural } = kind
  const gvk = { group, version, kind: kind.kind }
  const apiVersion = apiVersionOf(kind)
  const schema = builtinSchema(gvk)
  if (!schema) throw new Error(`no type for ${apiVersion} ${kind.kind}`)
  const conversion = conversionOf(apiVersion, kind.kind)
  const resource = conversion && kind.kind === 'Event' ? 'events' : groupResource({ group, plural })
  const hasStatus = kind.subresources.some(({ name }) => name === 'status')
  const fields = selectableFields(resource)
  return {
    ...kind,
    resource,
    storageVersion: conversion?.storageVersion ?? apiVersion,
    custom: undefined,
    schema,
    rules: builtinRules(resource, hasStatus),
    selectableFields: fields,
    scale: kind.subresources.some(({ name }) => name === 'scale') ? scalePaths : undefined,
    fieldsOf: (object) => fieldValues(object, fields),
    serve: conversion ? (document) => converted(document, conversion.fromStored) : (document) => document,
    toStored: conversion ? conversion.toStored : (object) => object,
    decode: (value) => decodeObject(schema, value),
    default: (object) => defaultObject(gvk, object),
    validateCreate: (object) => validateCreate(gvk, object),
    validateUpdate: (object, old) => validateUpdate(gvk, object, old),
    schemaOf: (other) => (other === apiVersion ? schema : builtinSchema({ ...gvk, ...groupAndVersion(other) })),
  }
}

const scalePaths: ScalePaths = {
  specReplicasPath: 'spec.replicas',
  statusReplicasPath: 'status.replicas',
  labelSelectorPath: 'spec.selector',
}

function converted(document: Document, convert: (object: KubeObject) => KubeObject): Document {
  const object = convert(document.value)
  return new Document(document.revision, JSON.stringify(object))
}

function groupAndVersion(apiVersion: string): { group: string; version: string } {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return { group, version }
}
