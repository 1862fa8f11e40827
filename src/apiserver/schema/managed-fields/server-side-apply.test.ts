import { describe, expect, it } from 'vitest'
import type { GroupVersionKind, KubeObject } from '../../../kube/object.ts'
import { isStatusError, type StatusCause } from '../../../kube/status-error.ts'
import { applyDefaults } from '../custom/apply-defaults.ts'
import { customSchema } from '../custom/custom-schema.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'
import { defaultObject } from '../defaults/default-object.ts'
import { builtinSchema, type ObjectSchema } from '../types/object-schema.ts'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'
import { apply } from './apply.ts'
import type { ManagedFieldsEntry } from './managers.ts'
import { trackUpdate } from './track-update.ts'

interface Step {
  readonly op: 'create' | 'apply' | 'merge' | 'smp' | 'put'
  readonly body: KubeObject
  readonly manager: string
  readonly force?: boolean
  readonly sub?: string
  readonly after?: KubeObject
  readonly error?: { readonly message: string; readonly causes: readonly StatusCause[] }
}

interface Scenario {
  readonly name: string
  readonly gvk: GroupVersionKind
  readonly resetFields: readonly string[]
  readonly statusResetFields: readonly string[]
  readonly steps: readonly Step[]
}

const { customSchema: fooSchema, scenarios } = recorded<{
  customSchema: StructuralSchema
  scenarios: readonly Scenario[]
}>('server-side-apply')

function schemaOf(gvk: GroupVersionKind): ObjectSchema {
  return builtinSchema(gvk) ?? customSchema(gvk, fooSchema)
}

/** When a step was taken: the time of the newest entry it left. */
function timeOf({ after }: Step): string {
  const entries = (after?.metadata.managedFields ?? []) as readonly ManagedFieldsEntry[]
  return entries
    .map(({ time = '' }) => time)
    .reduce((one, other) => (one > other ? one : other), '2026-01-01T00:00:00Z')
}

/** What we make of one step, given what was stored before it. */
function replay(scenario: Scenario, step: Step, live: KubeObject | undefined): KubeObject {
  const schema = schemaOf(scenario.gvk)
  const resetFields = step.sub === 'status' ? scenario.statusResetFields : scenario.resetFields
  const write = {
    schema,
    live,
    manager: step.manager,
    now: timeOf(step),
    resetFields,
    ...(step.sub ? { subresource: step.sub } : {}),
  }
  if (step.op === 'apply') {
    const object = apply({ ...write, applied: step.body, force: step.force === true })
    return schema.struct ? defaultObject(scenario.gvk, object) : applyDefaults(fooSchema, object)
  }
  return trackUpdate({ ...write, object: sent(step, live) })
}

/** The object of an update as the client sent it: managedFields are its own, or none, or those it read. */
function sent({ op, body, after }: Step, live: KubeObject | undefined): KubeObject {
  if (!after) throw new Error('only successful updates are replayed')
  const { managedFields: _, ...metadata } = after.metadata
  const own = body.metadata?.managedFields ?? (op === 'put' ? undefined : live?.metadata.managedFields)
  return { ...after, metadata: own ? { ...metadata, managedFields: own } : metadata }
}

function ownership(object: KubeObject): unknown {
  const entries = (object.metadata.managedFields ?? []) as readonly ManagedFieldsEntry[]
  return entries
    .map(({ time, ...entry }) => ({ ...entry, isTimed: time !== undefined }))
    .toSorted((a, b) => (JSON.stringify([a.operation, a.manager]) < JSON.stringify([b.operation, b.manager]) ? -1 : 1))
}

function content({ metadata, status: _, ...rest }: KubeObject): Record<string, unknown> {
  const { name, namespace, labels, annotations, finalizers } = metadata
  const own = Object.fromEntries(
    Object.entries(annotations ?? {}).filter(([key]) => !key.endsWith('last-applied-configuration')),
  )
  return { ...rest, metadata: { name, namespace, labels, finalizers, annotations: own } }
}

const inOrder = (causes: readonly StatusCause[]): unknown =>
  causes.map(({ field, message }) => `${field} ${message}`).toSorted()

const steps = scenarios.flatMap((scenario) =>
  scenario.steps.map((step, index) => {
    const live = scenario.steps.slice(0, index).findLast(({ after }) => after)?.after
    return [`${scenario.name} ${index}: ${step.op} by ${step.manager}`, scenario, step, live] as const
  }),
)

describe('managed fields', () => {
  it.each(steps.filter(([, , { after }]) => after))('are those of the API after %s', (_, scenario, step, live) => {
    const ours = replay(scenario, step, live)
    expect(ownership(ours)).toEqual(ownership(step.after as KubeObject))
    if (step.op !== 'apply') return
    // A new Service gets its address from elsewhere.
    if (live) expect(content(ours)).toEqual(content(step.after as KubeObject))
    else expect(content(step.after as KubeObject)).toMatchObject(content(ours))
  })

  it.each(steps.filter(([, , { error }]) => error))('conflict as the API says at %s', (_, scenario, step, live) => {
    try {
      replay(scenario, step, live)
      expect.unreachable('it should have been refused')
    } catch (error) {
      if (!isStatusError(error)) throw error
      expect(error.message).toBe(step.error?.message)
      expect(inOrder(error.details?.causes ?? [])).toEqual(inOrder(step.error?.causes ?? []))
    }
  })
})
