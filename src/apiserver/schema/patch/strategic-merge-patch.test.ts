import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/object.ts'
import { mergePatch } from '../../../kube/patches/patch.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { customSchema } from '../custom/custom-schema.ts'
import { decodeObject } from '../decode/decode.ts'
import { defaultObject } from '../defaults/default-object.ts'
import { builtinSchema, type ObjectSchema } from '../types/object-schema.ts'
import { strategicMergePatch } from './strategic-merge-patch.ts'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'

interface Recorded {
  readonly original: KubeObject
  readonly cases: readonly { readonly patch: unknown; readonly result?: unknown; readonly message?: string }[]
}

const { original, cases } = recorded<Recorded>('strategic-merge')
const gvk = { group: '', version: 'v1', kind: 'PodTemplate' }
const schema = builtinSchema(gvk) as ObjectSchema

const patched = (patch: unknown): KubeObject =>
  defaultObject(gvk, decodeObject(schema, strategicMergePatch(schema, original, patch)).object)

describe('strategicMergePatch', () => {
  it.each(
    cases.filter(({ result }) => result).map(({ patch, result }) => [JSON.stringify(patch), patch, result] as const),
  )('gives what the API gives for %s', (_, patch, result) => expect(patched(patch)).toEqual(result))

  it.each(
    cases
      .filter(({ message }) => message)
      .map(({ patch, message }) => [JSON.stringify(patch), patch, message] as const),
  )('refuses %s in the words of the API', (_, patch, message) => expect(() => patched(patch)).toThrow(message))

  it('merges long lists without looking for each item in all others', () => {
    const names = Array.from({ length: 30_000 }, (_, index) => `E${index}`)
    const env = (list: readonly string[], value: string) => list.map((name) => ({ name, value }))
    const containers = (list: object) => ({ template: { spec: { containers: [{ name: 'c', ...list }] } } })
    const turned = names.toReversed()
    const all = strategicMergePatch(schema, containers({ env: env(names, 'a') }), {
      ...containers({ env: env(turned, 'b'), '$setElementOrder/env': turned.map((name) => ({ name })) }),
      metadata: { $retainKeys: names, ...Object.fromEntries(names.map((name) => [name, '1'])) },
    })
    expect(all).toMatchObject(containers({ env: env(turned, 'b') }))
    const none = containers({ env: names.map((name) => ({ name, $patch: 'delete' })) })
    expect(strategicMergePatch(schema, all, none)).toMatchObject(containers({ env: [] }))
  })

  it('does not change the original', () => {
    const before = structuredClone(original)
    for (const { patch, result } of cases) if (result) strategicMergePatch(schema, original, patch)
    expect(original).toEqual(before)
  })

  it('is a merge patch where no list is concerned', () => {
    const labels = fc.dictionary(fc.string(), fc.option(fc.string(), { nil: null }))
    fc.assert(
      fc.property(labels, (given) => {
        const patch = {
          metadata: { labels: Object.fromEntries(Object.entries(given).filter(([key]) => !key.startsWith('$'))) },
        }
        expect(strategicMergePatch(schema, original, patch)).toEqual(mergePatch(original, patch))
      }),
    )
  })

  it('cannot be applied to custom resources', () => {
    const custom = customSchema({ group: 'ex.io', version: 'v1', kind: 'Foo' }, undefined)
    expect(() => strategicMergePatch(custom, {}, {})).toThrow('strategic merge patch format is not supported')
  })

  it('answers 400, and nothing else, whatever the patch', () => {
    const directive = fc.constantFrom(
      '$patch',
      '$retainKeys',
      '$setElementOrder/containers',
      '$deleteFromPrimitiveList/finalizers',
      'containers',
      'name',
      'spec',
      'template',
      'metadata',
      'finalizers',
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(null, 'delete', 'replace', 1, true),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(directive, tie('value'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(value, (patch) => {
        try {
          decodeObject(schema, strategicMergePatch(schema, original, { template: { spec: patch }, metadata: patch }))
        } catch (error) {
          expect(isStatusError(error, 'BadRequest')).toBe(true)
        }
      }),
      { numRuns: 400 },
    )
  })
})
