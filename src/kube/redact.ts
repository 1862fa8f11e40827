import type { KubeObject } from './object.ts'

/** What stands in the place of a value that must not be shown. */
export const redacted = '<redacted>'

const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'
const maxAnnotationBytes = 1024
const maxTextBytes = 1024
const maxDepth = 100

/**
 * An object as it may be shown to people who cannot read it: in a status, an Event, a CloudEvent or a notice. Secrets keep their
 * metadata and type. Bookkeeping that repeats the object, values of environment variables and credentials in URLs are left out.
 */
export function publicView(object: KubeObject): KubeObject {
  const { managedFields: _, annotations, ...metadata } = object.metadata
  if (isSecret(object)) {
    const { apiVersion, kind, type } = object
    return { apiVersion, kind, metadata, ...(type === undefined ? {} : { type }) }
  }
  const shown = shownAnnotations(annotations)
  const { metadata: __, ...rest } = object
  return {
    ...(withoutCredentials(rest, 0) as Omit<KubeObject, 'metadata'>),
    metadata: { ...metadata, ...(shown ? { annotations: shown } : {}) },
  } as KubeObject
}

/** What CEL expressions see of an object: Secrets are known by metadata and type alone, so that no condition can probe their values. */
export function evaluatedView<T extends KubeObject>(object: T): T | KubeObject {
  return isSecret(object) ? publicView(object) : object
}

export function isSecret({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return apiVersion === 'v1' && kind.toLowerCase() === 'secret'
}

function shownAnnotations(annotations: Readonly<Record<string, string>> = {}): Record<string, string> | undefined {
  const shown = Object.entries(annotations).filter(
    ([name, value]) => name !== lastAppliedAnnotation && Buffer.byteLength(value) <= maxAnnotationBytes,
  )
  return shown.length > 0 ? Object.fromEntries(shown.map(([name, value]) => [name, withoutUserInfo(value)])) : undefined
}

function withoutCredentials(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutUserInfo(value)
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => withoutCredentials(item, depth + 1))
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([name, item]) => [
      name,
      name === 'env' && Array.isArray(item) ? item.map(withoutValue) : withoutCredentials(item, depth + 1),
    ]),
  )
}

/** An environment variable without the value written into the manifest; references to Secrets and fields stay. */
function withoutValue(variable: unknown): unknown {
  if (typeof variable !== 'object' || variable === null || !('value' in variable)) return variable
  return { ...variable, value: redacted }
}

/** `https://user:password@host/path?token=x` as `https://host/path`. */
function withoutUserInfo(text: string): string {
  if (!text.includes('://')) return text
  return text.replaceAll(
    /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/?#@]*@)?([^\s?#]*)(?:\?[^\s#]*)?/gi,
    (_, scheme: string, rest: string) => `${scheme}${rest}`,
  )
}

/** Spellings of credentials that no message has a reason to contain. */
const credentialPatterns: readonly (readonly [RegExp, string])[] = [
  [
    /\b(authorization|private-token|x-api-key|cookie|set-cookie)(["']?\s*[:=]\s*)(?:(?:bearer|basic|token)\s+)?[^\s,;"']+/gi,
    `$1$2${redacted}`,
  ],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${redacted}`],
  [/-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g, redacted],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, redacted],
  [/\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16})/g, redacted],
]

/** A text as it may be shown: without credentials, control characters or those that reverse what follows, at most a kilobyte long. */
export function publicText(text: string, values?: SecretValues): string {
  const known = values ? values.removeFrom(text) : text
  const shown = credentialPatterns.reduce(
    (current, [pattern, replacement]) => current.replaceAll(pattern, replacement),
    withoutUserInfo(known),
  )
  return shorten(shown.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' '))
}

function shorten(text: string): string {
  if (Buffer.byteLength(text) <= maxTextBytes) return text
  const cut = Buffer.from(text)
    .subarray(0, maxTextBytes - 3)
    .toString('utf8')
  return `${cut.replace(/\ufffd+$/, '')}…`
}

const minValueLength = 6
const maxValueLength = 4096
const maxValues = 10_000

/** The values of Secrets that this process has read, so that none of them can appear in a text. Newest last. */
export class SecretValues {
  readonly #spellings = new Set<string>()
  /** The same by their first characters, so that a text is looked through once, however many there are. */
  readonly #byStart = new Map<string, readonly string[]>()

  /** How many spellings are known. */
  get size(): number {
    return this.#spellings.size
  }

  /** Remembers the values of a Secret in every spelling in which they may be repeated. */
  add(secret: KubeObject): void {
    if (!isSecret(secret) || String(secret.type).startsWith('helm.sh/')) return
    const { data } = secret as { readonly data?: Readonly<Record<string, string>> | null }
    for (const encoded of Object.values(data ?? {})) {
      const raw = Buffer.from(encoded, 'base64').toString('utf8')
      for (const line of [raw, ...raw.split(/\r?\n/)])
        for (const spelling of spellingsOf(line.trim())) this.#remember(spelling)
    }
  }

  /** The text without any of the values. */
  removeFrom(text: string): string {
    if (this.#spellings.size === 0 || text.length < minValueLength) return text
    let shown = ''
    for (let at = 0; at < text.length;) {
      const found = this.#byStart.get(text.slice(at, at + minValueLength))?.find((value) => text.startsWith(value, at))
      shown += found === undefined ? text[at] : redacted
      at += found?.length ?? 1
    }
    return shown
  }

  #remember(spelling: string): void {
    if (this.#spellings.has(spelling)) return
    if (this.#spellings.size >= maxValues) this.#forget(this.#spellings.values().next().value ?? '')
    this.#spellings.add(spelling)
    const start = spelling.slice(0, minValueLength)
    const longestFirst = [...(this.#byStart.get(start) ?? []), spelling].toSorted((a, b) => b.length - a.length)
    this.#byStart.set(start, longestFirst)
  }

  #forget(spelling: string): void {
    this.#spellings.delete(spelling)
    const start = spelling.slice(0, minValueLength)
    const others = (this.#byStart.get(start) ?? []).filter((other) => other !== spelling)
    if (others.length > 0) this.#byStart.set(start, others)
    else this.#byStart.delete(start)
  }
}

function spellingsOf(value: string): readonly string[] {
  if (value.length < minValueLength || value.length > maxValueLength) return []
  const bytes = Buffer.from(value)
  return [...new Set([value, bytes.toString('base64'), bytes.toString('base64url'), encodeURIComponent(value)])]
}
