import { describe, expect, it } from 'vitest'
import { kindOf, type KubeObject } from '../../../kube/object.ts'
import type { StatusCause } from '../../../kube/status-error.ts'
import { decodeObject } from '../decode/decode.ts'
import { defaultObject } from '../defaults/default-object.ts'
import { invalid } from '../types/field-error.ts'
import { builtinSchema } from '../types/object-schema.ts'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'
import { validateCreate, validateUpdate } from './validate-object.ts'

interface Refused {
  readonly object: KubeObject
  readonly causes: readonly StatusCause[]
}

function completed(object: KubeObject): KubeObject {
  const gvk = kindOf(object)
  const schema = builtinSchema(gvk)
  if (!schema) throw new Error(`no schema for ${gvk.kind}`)
  return defaultObject(gvk, decodeObject(schema, object).object)
}

function causesOf(object: KubeObject): readonly StatusCause[] {
  const errors = validateCreate(kindOf(object), completed(object))
  return errors.length > 0 ? (invalid(kindOf(object), 'x', errors).details?.causes ?? []) : []
}

/** Where the API says more than we do: values printed with Go's own names, scaling to zero, loopback addresses. */
const unlike = (causes: readonly StatusCause[]): boolean =>
  causes.some(({ message = '' }) =>
    /allowPrivilegeEscalation|scaling to zero|loopback range|^Invalid value: "x": must be a valid IP address$/.test(
      message,
    ),
  )

const refused = recorded<readonly Refused[]>('invalid-objects').map(
  ({ object, causes }) => [object.kind, JSON.stringify(object.spec ?? object).slice(0, 90), object, causes] as const,
)

describe('validateCreate', () => {
  it.each(refused.filter(([, , , causes]) => !unlike(causes)))(
    'gives the causes the API gives: %s %s',
    (_, _text, object, causes) => {
      expect(causesOf(object)).toEqual(causes)
    },
  )

  it('names object and faults in the message', () => {
    const error = invalid(
      { group: 'apps', kind: 'Deployment' },
      'web',
      validateCreate(
        { group: '', version: 'v1', kind: 'ConfigMap' },
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'A', labels: { 'a b': 'c' } } },
      ),
    )
    expect(error.message).toMatch(
      /^Deployment\.apps "web" is invalid: \[metadata\.name: Invalid value: "A": .*, metadata\.labels: Invalid value: "a b": .*\]$/,
    )
    expect(error.code).toBe(422)
  })

  it.each([
    ['resourceClaims', { resourceClaims: [{ name: 'a' }] }],
    ['containers[0].restartPolicy', { containers: [{ name: 'c', image: 'i', restartPolicy: 'Never' }] }],
    [
      'containers[0].restartPolicyRules',
      { containers: [{ name: 'c', image: 'i', restartPolicyRules: [{ action: 'Restart' }] }] },
    ],
  ])('refuses what the server would ignore: %s', (field, more) => {
    const spec = { containers: [{ name: 'c', image: 'i' }], ...more }
    const message = 'Forbidden: not supported by the embedded server'
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a' }, spec }
    expect(causesOf(pod)).toEqual([{ field: `spec.${field}`, message, reason: 'FieldValueForbidden' }])
  })

  it('knows the volumes that a StatefulSet adds for its claims', () => {
    const containers = [{ name: 'c', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/data' }] }]
    const set = (name: string) => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'a' },
      spec: {
        selector: { matchLabels: { app: 'db' } },
        template: { metadata: { labels: { app: 'db' } }, spec: { containers } },
        volumeClaimTemplates: [{ metadata: { name }, spec: { accessModes: ['ReadWriteOnce'] } }],
      },
    })
    expect(causesOf(set('data'))).toEqual([])
    expect(causesOf(set('other'))).toMatchObject([{ field: 'spec.template.spec.containers[0].volumeMounts[0].name' }])
  })

  it('looks at nothing but the metadata of kinds it does not know', () => {
    const gvk = { group: 'ex.io', version: 'v1', kind: 'Foo' }
    expect(validateCreate(gvk, { apiVersion: 'ex.io/v1', kind: 'Foo', metadata: { name: 'ok' }, spec: 5 })).toEqual([])
  })
})

const web = completed({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
})

const changed = (kind: string, apiVersion: string, old: object, now: object): readonly string[] => {
  const object = (rest: object): KubeObject => completed({ apiVersion, kind, metadata: { name: 'x' }, ...rest })
  return validateUpdate(kindOf({ apiVersion, kind }), object(now), object(old)).map(
    ({ field, message }) => `${field}: ${message}`,
  )
}

describe('validateUpdate', () => {
  it('accepts an unchanged object', () => expect(validateUpdate(kindOf(web), web, web)).toEqual([]))

  it('does not judge labels that did not change', () => {
    const odd = { ...web, metadata: { ...web.metadata, labels: { 'a b': 'c' } } }
    expect(validateUpdate(kindOf(odd), odd, odd)).toEqual([])
  })

  it.each([
    [
      'the type of a Secret',
      changed('Secret', 'v1', {}, { type: 'x' }),
      ['type: Invalid value: "x": field is immutable'],
    ],
    [
      'what an immutable ConfigMap holds',
      changed('ConfigMap', 'v1', { immutable: true, data: { a: 'b' } }, { immutable: true }),
      ['data: Forbidden: field is immutable when `immutable` is set'],
    ],
    [
      'whether a ConfigMap is immutable',
      changed('ConfigMap', 'v1', { immutable: true }, {}),
      ['immutable: Forbidden: field is immutable when `immutable` is set'],
    ],
    [
      'the role of a binding',
      changed(
        'RoleBinding',
        'rbac.authorization.k8s.io/v1',
        { roleRef: { kind: 'Role', name: 'a' } },
        { roleRef: { kind: 'Role', name: 'b' } },
      ),
      [
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: cannot change roleRef',
      ],
    ],
    [
      'the value of a PriorityClass',
      changed('PriorityClass', 'scheduling.k8s.io/v1', { value: 1 }, { value: 2 }),
      ['value: Forbidden: may not be changed in an update.'],
    ],
  ])('keeps %s', (_, faults, expected) => expect(faults).toEqual(expected))

  it('keeps the selector of a Deployment', () => {
    const selector = { matchLabels: { app: 'web' }, matchExpressions: [{ key: 'app', operator: 'Exists' }] }
    const moved = { ...web, spec: { ...(web.spec as object), selector } }
    expect(validateUpdate(kindOf(web), moved, web).map(({ field }) => field)).toEqual(['spec.selector'])
  })
})
