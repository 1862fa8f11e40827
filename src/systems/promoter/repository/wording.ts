import type { Promotion } from '../../../apis/pipeline-status.ts'

/** What a title, text or message may speak of. */
export interface Words {
  readonly namespace: string
  readonly pipeline: string
  readonly environment: string
  readonly revision: string
  readonly value: string
  readonly fromRevision: string
  readonly id: string
}

export function wordsOf(
  pipeline: { readonly namespace: string; readonly name: string },
  environment: string,
  promotion: Promotion,
): Words {
  const { id, revision, value = revision, fromRevision = '' } = promotion
  return { namespace: pipeline.namespace, pipeline: pipeline.name, environment, revision, value, fromRevision, id }
}

/** One line, short enough for every forge. */
export function titleOf(
  words: Words,
  template = 'Promote {{namespace}}/{{pipeline}} in {{environment}} to {{revision}}',
): string {
  return cut(oneLine(filled(template, words)), longestTitle)
}

/** The text of a pull request: what it does, what it replaces, and the mark by which it is found again. */
export function bodyOf(
  words: Words,
  given: { readonly template?: string | undefined; readonly replaces?: string | undefined },
): string {
  const safe = escaped(words)
  const about = given.template
    ? filled(given.template, safe)
    : `Promotes \`${safe.namespace}/${safe.pipeline}\` in \`${safe.environment}\`${safe.fromRevision ? ` from \`${safe.fromRevision}\`` : ''} to \`${safe.revision}\`.`
  return [
    about,
    ...(given.replaces ? [`Replaces ${given.replaces}`] : []),
    `<details><summary>metadata</summary>\n\nDo not edit: ${safe.namespace}/${safe.pipeline}/${safe.environment}\n\n</details>`,
    markOf(words.id),
  ].join('\n\n')
}

/** The hidden mark by which a pull request is known as a promotion's. */
export function markOf(id: string): string {
  return `<!-- sojourn-promotion: ${id} -->`
}

/** A commit's message, with trailers that say whose it is. */
export function messageOf(words: Words, template?: string): string {
  const subject = template ? filled(template, words).replaceAll('\r', '') : titleOf(words)
  const trailers = [
    `${idTrailer}: ${words.id}`,
    `Promotion-Revision: ${oneLine(words.revision)}`,
    `Promotion-Pipeline: ${words.namespace}/${words.pipeline}/${words.environment}`,
  ]
  return `${subject.trimEnd()}\n\n${trailers.join('\n')}\n`
}

/** Whether a commit was made for this promotion. */
export function isCommitOf(id: string, message: string): boolean {
  return message.split('\n').includes(`${idTrailer}: ${id}`)
}

const idTrailer = 'Promotion-Id'
const longestTitle = 250
const longestWord = 200

function filled(template: string, words: Words): string {
  return template.replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) =>
    name in words ? words[name as keyof Words] : whole,
  )
}

/** Nothing a revision holds may become markup, a mention or a second paragraph. */
function escaped(words: Words): Words {
  const safe = (text: string) =>
    cut(oneLine(text), longestWord).replace(/[&<>`@#]/g, (character) => `&#${character.codePointAt(0)};`)
  return Object.fromEntries(
    Object.entries(words).map(([name, text]) => [name, safe(text as string)]),
  ) as unknown as Words
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim()
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
