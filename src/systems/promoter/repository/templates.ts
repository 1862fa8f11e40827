import type { Promotion } from '../../../apis/pipeline-status.ts'

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

export function templateValues(
  pipeline: { readonly namespace: string; readonly name: string },
  environment: string,
  promotion: Promotion,
): TemplateValues {
  const { id, revision, value = revision, fromRevision = '' } = promotion
  return { namespace: pipeline.namespace, pipeline: pipeline.name, environment, revision, value, fromRevision, id }
}

/** A pull request's title: one line, short enough for every forge. */
export function titleOf(
  values: TemplateValues,
  template = 'Promote {{namespace}}/{{pipeline}} in {{environment}} to {{revision}}',
): string {
  return cut(oneLine(fill(template, values)), maxTitle)
}

/** A pull request's body: what it does, what it replaces, and the mark by which the promoter finds it again. */
export function bodyOf(
  values: TemplateValues,
  given: { readonly template?: string | undefined; readonly replaces?: string | undefined },
): string {
  const safe = escapeMarkdown(values)
  const about = given.template
    ? fill(given.template, safe)
    : `Promotes \`${safe.namespace}/${safe.pipeline}\` in \`${safe.environment}\`${safe.fromRevision ? ` from \`${safe.fromRevision}\`` : ''} to \`${safe.revision}\`.`
  return [
    about,
    ...(given.replaces ? [`Replaces ${given.replaces}`] : []),
    `<details><summary>metadata</summary>\n\nDo not edit: ${safe.namespace}/${safe.pipeline}/${safe.environment}\n\n</details>`,
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

/** Revisions are untrusted: none may become markup, a mention or a new paragraph. */
function escapeMarkdown(values: TemplateValues): TemplateValues {
  const safe = (text: string) =>
    cut(oneLine(text), maxValue).replace(/[&<>`@#]/g, (character) => `&#${character.codePointAt(0)};`)
  return Object.fromEntries(
    Object.entries(values).map(([name, text]) => [name, safe(text as string)]),
  ) as unknown as TemplateValues
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim()
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
