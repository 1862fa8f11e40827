import type { KubeObject } from '../../kube/object.ts'
import { readOwn } from '../../kube/basics/json.ts'
import { builtinFields } from './rules/builtin-rules.ts'

const always = ['metadata.name', 'metadata.namespace']

/** The field labels that selectors of a kind may use. */
export function selectableFields(resource: string, more: readonly string[] = []): ReadonlySet<string> {
  return new Set([...always, ...builtinFields(resource), ...more])
}

/** The values of these fields as selectors compare them; a missing field has the zero value of its type. */
export function fieldValues(object: KubeObject, fields: Iterable<string>): Record<string, string> {
  const values: Record<string, string> = {}
  const read = (field: string) => text(readOwn(object, aliases[field] ?? field.split('.')), field)
  for (const field of fields) values[field] = read(field)
  // The same field of both kinds of Event, and what stands for a source that is not given.
  const reporter = values['reportingComponent'] || values['reportingController']
  if (reporter) Object.assign(values, { reportingComponent: reporter, reportingController: reporter })
  if (reporter && !values['source']) values['source'] = reporter
  return values
}

const aliases: Readonly<Record<string, readonly string[]>> = {
  source: ['source', 'component'],
  'status.successful': ['status', 'succeeded'],
  'status.podIPs': ['status', 'podIPs', '0', 'ip'],
}

const zeros: Readonly<Record<string, string>> = {
  'spec.hostNetwork': 'false',
  'spec.unschedulable': 'false',
  'status.replicas': '0',
  'status.successful': '0',
}

function text(value: unknown, field: string): string {
  if (value === undefined || value === null || typeof value === 'object') return zeros[field] ?? ''
  return String(value as string | number | boolean)
}
