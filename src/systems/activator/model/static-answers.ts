import { jsonIn } from '../../../kube/basics/json.ts'
import type { StoredObject } from '../../../kube/object.ts'
import type { StaticAnswer } from '../proxy/routing/static-answer.ts'

/** Answers as an annotation lists them, and what is wrong with those that cannot be given. */
export function readStaticAnswers(text: string): {
  readonly answers: readonly StaticAnswer[]
  readonly problems: readonly string[]
} {
  const listed = jsonIn(text)
  if (!Array.isArray(listed)) return { answers: [], problems: [`must be a JSON list such as ${example}`] }
  const answers: StaticAnswer[] = []
  const problems: string[] = []
  for (const [index, each] of listed.entries()) {
    const answer = understood(each)
    if (typeof answer === 'string') problems.push(`[${index}].${answer}`)
    else answers.push(answer)
  }
  return { answers, problems }
}

/** What a ConfigMap holds for those who wait: `index.html` is the page, everything else lies beside it. */
export interface WaitingFiles {
  readonly page: { readonly type: string; readonly body: string } | undefined
  readonly answers: readonly StaticAnswer[]
}

/** The files of a ConfigMap, each with the type its name ends in. */
export function filesOf(configMap: StoredObject): WaitingFiles {
  const { data = {}, binaryData = {} } = configMap as StoredObject & {
    readonly data?: Readonly<Record<string, string>>
    readonly binaryData?: Readonly<Record<string, string>>
  }
  const files = [
    ...Object.entries(data).map(([name, text]) => ({ name, body: bytesOf(text) })),
    ...Object.entries(binaryData).map(([name, text]) => ({
      name,
      body: Buffer.from(text, 'base64').toString('latin1'),
    })),
  ]
  const page = files.find(({ name }) => name === pageName)
  const rest = files.filter(({ name }) => name !== pageName)
  return {
    page: page && { type: typeOf(pageName), body: page.body },
    answers: rest.map(({ name, body }) => ({
      path: `/${name}`,
      status: 200,
      type: typeOf(name),
      body,
      when: 'unavailable',
    })),
  }
}

const pageName = 'index.html'
const example = '[{"path":"/robots.txt","body":"User-agent: *","when":"always"}]'

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  txt: 'text/plain; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
}

function typeOf(name: string): string {
  return types[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream'
}

/** The answer, or the field that is wrong and why. */
function understood(written: unknown): StaticAnswer | string {
  const { path, status = 200, type, body = '', when = 'unavailable' } = (written ?? {}) as Record<string, unknown>
  if (typeof path !== 'string' || !/^\/[!-~]*$/.test(path) || path.includes('?'))
    return 'path: must be a path such as "/robots.txt", without a query'
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599)
    return 'status: must be a number from 200 to 599'
  if (typeof body !== 'string') return 'body: must be a text'
  if (when !== 'always' && when !== 'unavailable') return 'when: must be "always" or "unavailable"'
  if (type !== undefined && (typeof type !== 'string' || !/^[ -~]+$/.test(type)))
    return 'type: must be a content type such as "text/plain"'
  return {
    path,
    status,
    type: type ?? (path.includes('.') ? typeOf(path) : 'text/plain; charset=utf-8'),
    body: bytesOf(body),
    when,
  }
}

/** One character per byte, as it will be written. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
