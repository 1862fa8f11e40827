import type { Place } from '../../../kube/object.ts'
import type { Promotion } from '../../../apis/pipeline-status.ts'
import { shortRevision } from '../model/revision.ts'

/** The variables of title, body and message templates. */
export interface TemplateValues {
  readonly namespace: string
  readonly pipeline: string
  readonly environment: string
  readonly revision: string
  readonly value: string
  readonly fromRevision: string
  readonly id: string
}

export function templateValues(pipeline: Required<Place>, environment: string, promotion: Promotion): TemplateValues {
  const { id, revision, value = revision, fromRevision = '' } = promotion
  return { namespace: pipeline.namespace, pipeline: pipeline.name, environment, revision, value, fromRevision, id }
}

/** A pull request's title: one line, short enough for every forge. The default one shortens hashes. */
export function titleOf(values: TemplateValues, template?: string): string {
  const { namespace, pipeline, environment, revision } = values
  const text = template
    ? fill(template, values)
    : `Promote ${namespace}/${pipeline} in ${environment} to ${shortRevision(revision)}`
  return cut(oneLine(text), maxTitle)
}

/** A pull request's body: what it does, what it replaces, and the mark by which the promoter finds it again. */
export function bodyOf(
  values: TemplateValues,
  given: { readonly template?: string | undefined; readonly replaces?: string | undefined },
): string {
  const from = values.fromRevision ? ' from `{{fromRevision}}`' : ''
  const about = fillMarkdown(
    given.template ?? `Promotes \`{{namespace}}/{{pipeline}}\` in \`{{environment}}\`${from} to \`{{revision}}\`.`,
    values,
  )
  return [
    about,
    ...(given.replaces ? [`Replaces ${given.replaces}`] : []),
    `<details><summary>metadata</summary>\n\nDo not edit: ${values.namespace}/${values.pipeline}/${values.environment}\n\n</details>`,
    promotionMark(values.id),
  ].join('\n\n')
}

/** The HTML comment in the body that ties a pull request to a promotion. */
export function promotionMark(id: string): string {
  return `${markStart}${id} -->`
}

/** Whether a body carries the mark of any promotion. */
export function isMarked(body: string): boolean {
  return body.includes(markStart)
}

const markStart = '<!-- sojourn-promotion: '

/** A commit's message, with trailers that name the promotion. */
export function messageOf(values: TemplateValues, template?: string): string {
  const subject = template ? fill(template, values).replaceAll('\r', '') : titleOf(values)
  const trailers = [
    `${idTrailer}: ${values.id}`,
    `Promotion-Revision: ${oneLine(values.revision)}`,
    `Promotion-Pipeline: ${values.namespace}/${values.pipeline}/${values.environment}`,
  ]
  return `${subject.trimEnd()}\n\n${trailers.join('\n')}\n`
}

/** Whether a commit message carries this promotion's id. */
export function isCommitOf(id: string, message: string): boolean {
  return message.split('\n').includes(`${idTrailer}: ${id}`)
}

const idTrailer = 'Promotion-Id'
const maxTitle = 250
const maxValue = 200

function fill(template: string, values: TemplateValues): string {
  return template.replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) =>
    name in values ? values[name as keyof TemplateValues] : whole,
  )
}

/**
 * Revisions are untrusted: none may become markup, a mention or a new paragraph. In a code span an escape would be shown as it is
 * written.
 */
function fillMarkdown(template: string, values: TemplateValues): string {
  const escaped = (text: string) => text.replace(/[&<>`@#]/g, (character) => `&#${character.codePointAt(0)};`)
  return template.replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string, at: number) => {
    if (!(name in values)) return whole
    const text = cut(oneLine(values[name as keyof TemplateValues]), maxValue)
    const before = template.slice(template.lastIndexOf('\n', at) + 1, at)
    return before.split('`').length % 2 === 0 ? inCodeSpan(text) : escaped(text)
  })
}

/** Readable as it is. Look-alikes replace what a forge with a parser of its own could take for markup or a mention. */
function inCodeSpan(text: string): string {
  return text
    .replaceAll('`', "'")
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replace(/@(?!sha\d+:)/g, '@\u200b')
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim()
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
