import type { Static, TSchema, TUnsafe } from 'typebox'
import { schemaBuilders as Type } from './builders.ts'

/** The constructors that yield structural schemas. TypeBox's unions and records do not: Kubernetes rejects them. */
export const {
  Object: object,
  String: string,
  Integer: integer,
  Number: number,
  Boolean: boolean,
  Array: list,
  Optional: optional,
} = Type

export type { Static, TSchema }

/** A string out of a closed list. */
export function oneOf<const T extends readonly string[]>(
  values: T,
  options: { description?: string; default?: T[number] } = {},
): TUnsafe<T[number]> {
  return Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })
}

/** A map with arbitrary keys and values of one schema. */
export function mapOf<T extends TSchema>(
  values: T,
  options: { description?: string; 'x-kubernetes-map-type'?: 'atomic' } = {},
): TUnsafe<Record<string, Static<T>>> {
  return Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: values, ...options })
}

/** Any value, not pruned. */
export function anything(options: { description?: string } = {}): TUnsafe<unknown> {
  return Type.Unsafe<unknown>({ 'x-kubernetes-preserve-unknown-fields': true, ...options })
}

/** An object with arbitrary fields, not pruned. */
export function freeObject(options: { description?: string } = {}): TUnsafe<Record<string, unknown>> {
  return Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    ...options,
  })
}

/** An integer, or a string such as `25%`. */
export function intOrString(options: { description?: string } = {}): TUnsafe<number | string> {
  return Type.Unsafe<number | string>({ 'x-kubernetes-int-or-string': true, ...options })
}

/** A Go duration, or whole days and weeks: `90m`, `36h`, `15d`, `2w`. */
export function duration(options: { description?: string; default?: string } = {}): ReturnType<typeof string> {
  return string({ pattern: durationPattern, maxLength: 64, ...options })
}

/** An instant in RFC 3339. */
export function time(options: { description?: string } = {}): ReturnType<typeof string> {
  return string({ format: 'date-time', ...options })
}

/** A standard Kubernetes label selector. */
export function labelSelector(options: { description: string }) {
  return object(
    {
      matchLabels: optional(mapOf(string(), { description: 'Labels that must all have these values.' })),
      matchExpressions: optional(
        list(
          object({
            key: string({ description: 'Label key that the requirement applies to.' }),
            operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist'], {
              description: 'How the label relates to the values.',
            }),
            values: optional(
              list(string(), { description: 'Values for In and NotIn; must be empty for Exists and DoesNotExist.' }),
            ),
          }),
          { description: 'Label requirements, all of which must hold.' },
        ),
      ),
    },
    { 'x-kubernetes-map-type': 'atomic', ...options },
  )
}

/** A reference to an object. */
export function objectReference(options: { description: string }) {
  return object(
    {
      apiVersion: string({ minLength: 1, description: 'API group and version of the object.' }),
      kind: string({ minLength: 1, description: 'Kind of the object.' }),
      namespace: optional(string({ description: 'Namespace of the object; absent for cluster-scoped kinds.' })),
      name: string({ minLength: 1, description: 'Name of the object.' }),
    },
    options,
  )
}

/** Standard Kubernetes conditions, one per type. */
export function conditions() {
  return list(
    object({
      type: string({ maxLength: 316, description: 'Type of the condition, such as Ready.' }),
      status: oneOf(['True', 'False', 'Unknown'], { description: 'Whether the condition holds.' }),
      reason: string({ minLength: 1, maxLength: 1024, description: 'Machine-readable reason in CamelCase.' }),
      message: string({ maxLength: 32768, description: 'Human-readable explanation.' }),
      lastTransitionTime: time({ description: 'When the status last changed.' }),
      observedGeneration: optional(
        integer({ minimum: 0, description: 'metadata.generation that the condition was computed from.' }),
      ),
    }),
    {
      description: 'Current conditions, one per type.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
  )
}

/** The status fields by which `kubectl wait`, kstatus, Flux and Helm judge an object: in the status of every kind that users write. */
export const health = {
  observedGeneration: optional(
    integer({ minimum: 0, description: 'metadata.generation that the status was computed from.' }),
  ),
  conditions: optional(conditions()),
}

const durationPattern = '^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h|d|w))+$|^0$'

/** In the spec of every namespaced kind whose controller acts on the user's behalf. */
export const serviceAccountName = optional(
  string({
    minLength: 1,
    maxLength: 253,
    description:
      'ServiceAccount in this namespace that Sojourn impersonates for everything it does for this object. Default: the permissions of the user who last wrote the spec.',
  }),
)
