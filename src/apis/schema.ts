import type {
  Static,
  TArray,
  TBoolean,
  TInteger,
  TNumber,
  TObject,
  TOptional,
  TSchema,
  TString,
  TUnsafe,
} from 'typebox'

export type { Static, TSchema }

/*
 * Constructors of structural schemas, with the types of TypeBox and plain JSON Schema for values: loading TypeBox itself, some
 * four hundred modules, would take most of the time of every start, and Kubernetes rejects its unions and records.
 * The description comes first; an item of a list or map may go without. A field whose name ends in `?` is optional.
 */

/** What the manifests have after the description. */
const lastKeywords = ['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-validations']

type Options = Readonly<Record<string, unknown>>

/** A description and further keywords, or only the keywords. */
type About = [description: string, keywords?: Options | undefined] | [keywords?: Options | undefined]

/** The same, with what they are about after the description. */
type Given<T> = [first: string | T, second?: T | Options, third?: Options]

type Fields = Readonly<Record<string, TSchema>>

type FieldsOf<F extends Fields> = {
  [K in keyof F as K extends `${infer Name}?` ? Name : K]: K extends `${string}?` ? TOptional<F[K]> : F[K]
}

export const string = scalar<TString>('string')
export const integer = scalar<TInteger>('integer')
export const number = scalar<TNumber>('number')
export const boolean = scalar<TBoolean>('boolean')

export const secretName = string('Name of the Secret.', { minLength: 1 })

function scalar<T extends TSchema>(type: string): (...about: About) => T {
  return (...about) => schema<T>({ type }, about)
}

export function object<F extends Fields>(description: string, fields: F, keywords?: Options): TObject<FieldsOf<F>>
export function object<F extends Fields>(fields: F, keywords?: Options): TObject<FieldsOf<F>>
export function object(...given: Given<Fields>): unknown {
  const [fields, about] = subjectOf(given)
  const required = Object.keys(fields).filter((name) => !name.endsWith('?'))
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name.replace(/\?$/, ''), field]))
  return schema(
    {
      type: 'object',
      ...(required.length > 0 ? { required } : {}),
      // The API server drops an empty `properties`: written, the CRD would look changed at every start.
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
    },
    about,
  )
}

export function list<T extends TSchema>(description: string, items: T, keywords?: Options): TArray<T>
export function list<T extends TSchema>(items: T, keywords?: Options): TArray<T>
export function list(...given: Given<TSchema>): unknown {
  const [items, about] = subjectOf(given)
  return schema({ type: 'array', items }, about)
}

/** A list of objects. */
export function objects<F extends Fields>(description: string, fields: F, keywords?: Options) {
  return list(description, object(fields), keywords)
}

/** A string out of a closed list. */
export function oneOf<const T extends readonly string[]>(
  description: string,
  values: T,
  keywords?: { readonly default: T[number] },
): TUnsafe<T[number]>
export function oneOf<const T extends readonly string[]>(values: T): TUnsafe<T[number]>
export function oneOf(...given: Given<readonly string[]>): unknown {
  const [values, about] = subjectOf(given)
  return schema({ type: 'string', enum: values }, about)
}

/** A map with arbitrary keys and values of one schema. */
export function mapOf<T extends TSchema>(description: string, values: T, keywords: Options = {}) {
  return schema<TUnsafe<Record<string, Static<T>>>>({ type: 'object', additionalProperties: values }, [
    description,
    keywords,
  ])
}

/** Any value, not pruned. */
export function anything(...about: About): TUnsafe<unknown> {
  return schema({ 'x-kubernetes-preserve-unknown-fields': true }, about)
}

/** An object with arbitrary fields, not pruned. */
export function freeObject(description: string): TUnsafe<Record<string, unknown>> {
  return schema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, [description])
}

/** An integer, or a string such as `25%`. */
export function intOrString(description: string): TUnsafe<number | string> {
  return schema({ 'x-kubernetes-int-or-string': true }, [description])
}

/** A Go duration, or whole days and weeks: `90m`, `36h`, `15d`, `2w`. */
export function duration(...about: About): TString {
  return schema({ type: 'string', pattern: durationPattern, maxLength: 64 }, about)
}

const durationPattern = '^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h|d|w))+$|^0$'

/** An instant in RFC 3339. */
export function time(description: string): TString {
  return schema({ type: 'string', format: 'date-time' }, [description])
}

/** A standard Kubernetes label selector. */
export function labelSelector(description: string) {
  return object(
    description,
    {
      'matchLabels?': mapOf('Labels that must all have these values.', string()),
      'matchExpressions?': objects('Label requirements, all of which must hold.', {
        key: string('Label key that the requirement applies to.'),
        operator: oneOf('How the label relates to the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
        'values?': list('Values for In and NotIn; must be empty for Exists and DoesNotExist.', string()),
      }),
    },
    { 'x-kubernetes-map-type': 'atomic' },
  )
}

/** A reference to an object. */
export function objectReference(description: string) {
  return object(description, {
    apiVersion: string('API group and version of the object.', { minLength: 1 }),
    kind: string('Kind of the object.', { minLength: 1 }),
    'namespace?': string('Namespace of the object; absent for cluster-scoped kinds.'),
    name: string('Name of the object.', { minLength: 1 }),
  })
}

/** Standard Kubernetes conditions, one per type. */
export function conditions() {
  return objects(
    'Current conditions, one per type.',
    {
      type: string('Type of the condition, such as Ready.', { maxLength: 316 }),
      status: oneOf('Whether the condition holds.', ['True', 'False', 'Unknown']),
      reason: string('Machine-readable reason in CamelCase.', { minLength: 1, maxLength: 1024 }),
      message: string('Human-readable explanation.', { maxLength: 32768 }),
      lastTransitionTime: time('When the status last changed.'),
      'observedGeneration?': integer('metadata.generation that the condition was computed from.', { minimum: 0 }),
    },
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
  )
}

/** The status fields by which `kubectl wait`, kstatus, Flux and Helm judge an object: in the status of every kind that users write. */
export const health = {
  'observedGeneration?': integer('metadata.generation that the status was computed from.', { minimum: 0 }),
  'conditions?': conditions(),
}

/** In the spec of every namespaced kind whose controller acts on the user's behalf. */
export const serviceAccountName = {
  'serviceAccountName?': string(
    'ServiceAccount in this namespace that Sojourn impersonates for everything it does for this object. Default: the permissions of the user who last wrote the spec.',
    { minLength: 1, maxLength: 253 },
  ),
}

function subjectOf<T extends object>(given: Given<T>): [subject: T, about: About] {
  const [first, second, third] = given
  if (typeof first === 'string') return [second as T, [first, third]]
  return [first, [second as Options | undefined]]
}

function schema<T extends TSchema>(base: Options, [first, keywords]: About): T {
  const given = typeof first === 'string' ? { ...keywords, description: first } : { ...first }
  const ordered = Object.entries(given).toSorted(([a], [b]) => lastKeywords.indexOf(a) - lastKeywords.indexOf(b))
  return { ...base, ...Object.fromEntries(ordered) } as unknown as T
}
