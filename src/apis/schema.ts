import type { Static, TSchema, TUnsafe } from 'typebox'
import { schemaBuilders as Type } from './builders.ts'

/** Only what a structural schema may hold: TypeBox's own unions and records emit what Kubernetes refuses. */
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

/** A map with free keys and values of one sort. */
export function mapOf<T extends TSchema>(
  values: T,
  options: { description?: string; 'x-kubernetes-map-type'?: 'atomic' } = {},
): TUnsafe<Record<string, Static<T>>> {
  return Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: values, ...options })
}

/** Any object at all, kept as it is. */
export function anything(options: { description?: string } = {}): TUnsafe<unknown> {
  return Type.Unsafe<unknown>({ 'x-kubernetes-preserve-unknown-fields': true, ...options })
}

/** An object with whatever fields, kept as they are. */
export function freeObject(options: { description?: string } = {}): TUnsafe<Record<string, unknown>> {
  return Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    ...options,
  })
}

/** A number of things, or a percentage such as `25%`. */
export function intOrString(options: { description?: string } = {}): TUnsafe<number | string> {
  return Type.Unsafe<number | string>({ 'x-kubernetes-int-or-string': true, ...options })
}

/** A Go duration, or whole days and weeks: `90m`, `36h`, `15d`, `2w`. */
export function duration(options: { description?: string; default?: string } = {}): ReturnType<typeof string> {
  return string({ pattern: durationPattern, maxLength: 64, ...options })
}

/** RFC 3339. */
export function time(options: { description?: string } = {}): ReturnType<typeof string> {
  return string({ format: 'date-time', ...options })
}

/** `matchLabels` and `matchExpressions`, as everywhere in Kubernetes. */
export function labelSelector(options: { description?: string } = {}) {
  return object(
    {
      matchLabels: optional(mapOf(string())),
      matchExpressions: optional(
        list(
          object({
            key: string(),
            operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist']),
            values: optional(list(string())),
          }),
        ),
      ),
    },
    { 'x-kubernetes-map-type': 'atomic', ...options },
  )
}

/** The coordinates of an object; a namespace only where the kind has one. */
export function objectReference(options: { description?: string } = {}) {
  return object(
    {
      apiVersion: string({ minLength: 1 }),
      kind: string({ minLength: 1 }),
      namespace: optional(string()),
      name: string({ minLength: 1 }),
    },
    options,
  )
}

/** The conditions of a status, keyed by type. */
export function conditions() {
  return list(
    object({
      type: string({ maxLength: 316 }),
      status: oneOf(['True', 'False', 'Unknown']),
      reason: string({ minLength: 1, maxLength: 1024 }),
      message: string({ maxLength: 32768 }),
      lastTransitionTime: time(),
      observedGeneration: optional(integer({ minimum: 0 })),
    }),
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
  )
}

const durationPattern = '^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h|d|w))+$|^0$'

/** For every kind that controllers act for. */
export const serviceAccountName = optional(
  string({
    minLength: 1,
    maxLength: 253,
    description:
      'A ServiceAccount of this namespace that Sojourn impersonates for everything it does for this object. Without it, the rights of the user who last wrote the spec apply.',
  }),
)
