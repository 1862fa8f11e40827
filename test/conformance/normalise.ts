/** A body without what no two servers have in common: times, uids, versions, and texts that name Go's insides. */
export function normalised(value: unknown): unknown {
  return visit(inOrder(value), '')
}

interface Cause {
  readonly field?: string
  readonly message?: string
}

/** Kubernetes lists the faults of an object in whatever order its maps are walked: by field and words, they compare. */
export function inOrder(value: unknown): unknown {
  const answer = value as {
    body?: unknown
    kind?: unknown
    message?: string
    details?: { causes?: readonly Cause[] }
  } | null
  if (typeof answer !== 'object' || answer === null) return value
  const { causes = [] } = answer.details ?? {}
  if (answer.kind !== 'Status' || causes.length < 2) return value
  const words = ({ field = '', message = '' }: Cause) => `${field}: ${message}`
  const sorted = causes.toSorted((left, right) => (words(left) < words(right) ? -1 : 1))
  const said = `[${causes.map(words).join(', ')}]`
  const message = answer.message?.replace(said, `[${sorted.map(words).join(', ')}]`)
  return { ...answer, message, details: { ...answer.details, causes: sorted } }
}

const runtimeFields: Readonly<Record<string, string>> = {
  uid: 'UID',
  resourceVersion: 'VERSION',
  creationTimestamp: 'TIME',
  deletionTimestamp: 'TIME',
  lastTransitionTime: 'TIME',
  lastUpdateTime: 'TIME',
  time: 'TIME',
  token: 'TOKEN',
  expirationTimestamp: 'TIME',
  clusterIP: 'IP',
  continue: 'CONTINUE',
  nodePort: 'PORT',
}

function visit(value: unknown, key: string): unknown {
  if (typeof value === 'string') return runtimeFields[key] && value !== '' ? runtimeFields[key] : words(value)
  if (typeof value === 'number') return runtimeFields[key] ?? value
  if (Array.isArray(value)) return visitAll(value, key)
  if (typeof value !== 'object' || value === null) return value
  const result: Record<string, unknown> = {}
  const { kind } = value as { kind?: unknown }
  const isReview = typeof kind === 'string' && kind.endsWith('Review')
  for (const [name, part] of Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    // Go writes some empty structures, lists and nulls that carry no information.
    if (part === null || isEmpty(part)) continue
    // Who sent a review is tracked there; one that is not stored has no managedFields here.
    if (isReview && name === 'metadata') continue
    result[name] = visit(part, name)
  }
  return result
}

function visitAll(values: readonly unknown[], key: string): readonly unknown[] {
  if (key === 'clusterIPs') return ['IP']
  const visited = values.map((item) => visit(item, ''))
  // By time first, and a second may end between two steps.
  if (key !== 'managedFields') return visited
  const texts = visited.map((entry) => JSON.stringify(entry))
  return texts.toSorted().map((text): unknown => JSON.parse(text))
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function words(text: string): string {
  return (
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
      .replaceAll(/(resource ?[vV]ersion:? )\d+( \(\d+\))?/g, '$1N')
      .replaceAll(/, current: \d+/g, ', current: N')
      .replaceAll(/([-_])[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '$1RAND')
      .replaceAll(/(ResourceVersion in record \()\d+/g, '$1N')
      .replaceAll(/(resourceVersion\\":\\")\d+/g, '$1N')
      .replaceAll(/ in scheme "[^"]*"/g, '')
      // Two YAML libraries, two ways to say the same.
      .replaceAll(/yaml: .*$/g, 'yaml: FAULT')
      // We answer in fewer formats.
      .replaceAll(
        /(accepted media types include|only the following media types are accepted|Available representations): .*$/gs,
        '$1: TYPES',
      )
  )
}
