import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { allKinds } from '../src/apis/all-kinds.ts'

/** The CRDs that released versions installed, without descriptions. A release adds one file; none is ever written again. */
const fixtures = join(import.meta.dirname, 'fixtures')
const released = readdirSync(fixtures).filter((name) => name.startsWith('kinds-'))

interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
}

interface Crd {
  readonly metadata: { readonly name?: string }
  readonly spec: {
    readonly scope: string
    readonly versions: readonly {
      readonly name: string
      readonly served: boolean
      readonly schema?: { readonly openAPIV3Schema: Schema }
    }[]
  }
}

/** What of docs/upgrade.md's promises a change breaks: an object that the old schema took, the new one must take and keep whole. */
function breaksOf(old: Schema, now: Schema | undefined, path = ''): readonly string[] {
  if (now === undefined) return [`${path} is gone`]
  const below = (name: string) => (path ? `${path}.${name}` : name)
  const narrower = (['minLength', 'minItems', 'minimum'] as const).filter((key) => (now[key] ?? 0) > (old[key] ?? 0))
  const tighter = (['maxLength', 'maxItems', 'maximum'] as const).filter(
    (key) => (now[key] ?? Infinity) < (old[key] ?? Infinity),
  )
  return [
    ...(old.type !== now.type ? [`${path} was ${old.type} and is ${now.type}`] : []),
    ...(now.enum && !old.enum ? [`${path} takes only some values now`] : []),
    ...(old.enum ?? [])
      .filter((value) => now.enum && !now.enum.includes(value))
      .map((value) => `${path} refuses ${String(value)}`),
    ...(now.required ?? [])
      .filter((name) => !old.required?.includes(name))
      .map((name) => `${below(name)} is required now`),
    ...[...narrower, ...tighter].map((key) => `${path} has a stricter ${key}`),
    ...(now.pattern !== undefined && now.pattern !== old.pattern ? [`${path} has another pattern`] : []),
    ...Object.entries(old.properties ?? {}).flatMap(([name, child]) =>
      breaksOf(child, now.properties?.[name], below(name)),
    ),
    ...(old.items ? breaksOf(old.items, now.items, `${path}[]`) : []),
    ...(typeof old.additionalProperties === 'object' && typeof now.additionalProperties === 'object'
      ? breaksOf(old.additionalProperties, now.additionalProperties, `${path}.*`)
      : []),
  ]
}

describe.each(released)('what users wrote for %s', (file) => {
  const crds = JSON.parse(gunzipSync(readFileSync(join(fixtures, file))).toString()) as readonly Crd[]

  it.each(crds.map((crd) => [crd.metadata.name ?? '', crd] as const))('is still a valid %s', (name, crd) => {
    const kind = allKinds.find(({ plural, group }) => `${plural}.${group}` === name)
    const now = kind?.crd as unknown as Crd | undefined
    expect(now?.spec.scope).toBe(crd.spec.scope)
    for (const { name: version, schema } of crd.spec.versions) {
      const same = now?.spec.versions.find((each) => each.name === version)
      expect([version, same?.served]).toEqual([version, true])
      const old = schema?.openAPIV3Schema.properties?.['spec']
      const breaks = old ? breaksOf(old, same?.schema?.openAPIV3Schema.properties?.['spec'], 'spec') : []
      expect(breaks).toEqual([])
    }
  })
})

it.each([
  ['a removed field', { properties: { a: { type: 'string' } } }, { properties: {} }, 'spec.a is gone'],
  ['another type', { type: 'string' }, { type: 'integer' }, 'spec was string and is integer'],
  ['a value less', { enum: ['A', 'B'] }, { enum: ['A'] }, 'spec refuses B'],
  ['a field that must be there', {}, { required: ['a'] }, 'spec.a is required now'],
  ['a lower limit', { maxItems: 9 }, { maxItems: 3 }, 'spec has a stricter maxItems'],
] as const)('sees %s', (_, old, now, says) => {
  expect(breaksOf(old as Schema, now as Schema, 'spec')).toEqual([says])
})
