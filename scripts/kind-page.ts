import type { Kind } from '../src/apis/define-kind.ts'
import { holds, refusals } from '../src/departures/door/because.ts'
import type { DeclaredMetric } from '../src/runtime/observability/metrics.ts'
import { compliances, doubts, exclusions, phaseReasons, waits } from '../src/systems/janitor/model/because.ts'
import { sentences } from '../src/apis/pipeline-reasons.ts'

/** Separates the hand-written part of a page from the generated one. */
const mark = '<!-- From here on written by "npm run generate". -->'

/** The file name of a kind's page. */
export function pageOf({ kind }: Pick<Kind, 'kind'>): string {
  return `${kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}.md`
}

/** The page of a kind: its hand-written part, and below it the part generated from the code. */
export function kindPage(kind: Kind, written: string | undefined, metrics: readonly DeclaredMetric[]): string {
  const { spec, status } = kind
  return page(written ?? `# ${kind.kind}\n`, [
    wordTables(kind.kind),
    `## Metrics\n\n${metricTable(kind.kind, metrics)}`,
    `## Fields\n\n${kind.description} \`${kind.apiVersion}\`, ${kind.scope === 'Cluster' ? 'for the whole cluster' : 'in a namespace'}; \`kubectl get ${kind.plural}\`${kind.shortNames ? ` (${kind.shortNames.join(', ')})` : ''}.`,
    `### spec\n\n${fieldTable(spec as unknown as Schema)}`,
    `### status\n\n${fieldTable(status as unknown as Schema)}`,
  ])
}

/** The page of the activator, which has no kind of its own. */
export function activatorPage(written: string, metrics: readonly DeclaredMetric[]): string {
  return page(written, [`## Metrics\n\n${metricTable('activator', metrics)}`])
}

function page(written: string, generated: readonly string[]): string {
  const [words = ''] = written.split(mark)
  return `${words.trimEnd()}\n\n${mark}\n${generated.filter((part) => part !== '').join('\n\n')}\n`
}

type Words = Readonly<Record<string, string>>

/** Closed vocabularies of the code, by the kind whose status, Events and metrics use them. */
const vocabularies: Readonly<Record<string, Readonly<Record<string, Words>>>> = {
  Pipeline: { 'All reasons': sentences },
  CleanupCandidate: {
    'Why it is marked, or no longer': phaseReasons,
    'Why it waits': waits,
    'Why it is left alone': { ...exclusions, ...compliances },
    'What could not be found out': doubts,
  },
  Departure: { 'Reasons to refuse a deletion': refusals, 'Reasons to hold a deletion': holds },
}

function wordTables(kind: string): string {
  return Object.entries(vocabularies[kind] ?? {})
    .map(([title, words]) => {
      const rows = Object.entries(words).map(([word, sentence]) => `| \`${word}\` | ${sentence} |`)
      return `## ${title}\n\n| word | says |\n|---|---|\n${rows.join('\n')}`
    })
    .join('\n\n')
}

/** The metrics of each kind: prefixes of names, with the labels that select the kind. */
const metricsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Approval: { promoter_approvals: '' },
  Bond: { departures_total: 'system="collector"', controller: 'controller="bonds"', reconcile: 'controller="bonds"' },
  Cleaner: {
    departures_total: 'system="cleaner"',
    controller: 'controller="cleaner-cleaner"',
    reconcile: 'controller="cleaner-cleaner"',
  },
  CleanupCandidate: { janitor_turns: '', janitor_notices: '', departures_total: 'system="janitor"' },
  CleanupOptOut: {
    janitor_turns: 'phase="OptedOut"',
    departures_total: 'because="opted-out"',
    controller: 'controller="janitor-opt-outs"',
  },
  CleanupPolicy: { janitor: '', controller: 'controller="janitor"', reconcile: 'controller="janitor"' },
  ConditionalTTL: {
    departures_total: 'system="cleaner"',
    controller: 'controller="cleaner-conditionalttl"',
    reconcile: 'controller="cleaner-conditionalttl"',
  },
  Departure: { departures: '', controller: 'controller="departures"' },
  DeparturePage: { controller: 'controller="departures"' },
  Environment: { departures_total: 'system="environments"', controller: 'controller="environments"' },
  EnvironmentClass: { controller: 'controller="environment-classes"' },
  GitopsCluster: { cache: 'cluster="NAMESPACE.NAME"', promoter_target_caches: '' },
  NotificationChannel: { janitor_notices: 'channel="NAME"' },
  Pipeline: { promoter: '', controller: 'controller="promoter"', reconcile: 'controller="promoter"' },
  ProviderAccount: { janitor_resources: '', janitor_troubles: '' },
  SavingsReport: { saved: '', savings: '', controller: 'controller="savings"' },
  UsageLedger: { janitor_resources: '' },
  WorkSchedule: { departures_total: 'because="outside-window"' },
  activator: { activator: '' },
}

/** Throws when a kind names a metric or a label that no system declares. */
function metricTable(kind: string, metrics: readonly DeclaredMetric[]): string {
  const wanted = metricsOf[kind]
  if (!wanted) throw new Error(`scripts/kind-page.ts does not say which metrics speak of ${kind}`)
  const rows = Object.entries(wanted).flatMap(([beginning, labels]) => {
    const found = metrics.filter(({ name }) => name.startsWith(`sojourn_${beginning}`))
    if (found.length === 0) throw new Error(`${kind}: no metric begins with sojourn_${beginning}`)
    const [label = ''] = labels.split('=')
    return found.map(({ name, labels: known = [], help }) => {
      if (label !== '' && !known.includes(label)) throw new Error(`${kind}: ${name} has no label ${label}`)
      return `| \`${name}${labels === '' ? '' : `{${labels}}`}\` | ${known.map((each) => `\`${each}\``).join(', ')} | ${help.replace(/\.$/, '')} |`
    })
  })
  return `| metric | labels | counts |\n|---|---|---|\n${rows.join('\n')}`
}

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly string[]
  readonly additionalProperties?: Schema
  readonly default?: unknown
}

function fieldTable(schema: Schema): string {
  const rows = fieldsOf(schema, '')
  return rows.length === 0 ? 'None.' : `| field | type | needed | says |\n|---|---|---|---|\n${rows.join('\n')}`
}

function fieldsOf({ properties = {}, required = [] }: Schema, prefix: string): readonly string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`
    const note = `${schema.description ?? ''}${schema.default === undefined ? '' : ` Defaults to ${JSON.stringify(schema.default)}.`}`
    const row = `| \`${path}\` | ${typeName(schema)} | ${required.includes(name) ? 'yes' : ''} | ${note.replaceAll('|', '\\|').trim()} |`
    return [row, ...fieldsOf(schema, `${path}.`), ...(schema.items ? fieldsOf(schema.items, `${path}[].`) : [])]
  })
}

function typeName(schema: Schema): string {
  if (schema.enum) return schema.enum.join(', ')
  if (schema.type === 'array') return `list of ${schema.items ? typeName(schema.items) : 'anything'}`
  if (schema.additionalProperties) return `map of ${typeName(schema.additionalProperties)}`
  return schema.type ?? 'anything'
}
