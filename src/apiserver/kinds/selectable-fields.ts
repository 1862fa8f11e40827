import type { KubeObject } from '../../kube/object.ts'
import { readOwn } from '../schema/types/set-own.ts'

/** The field labels of built-in kinds, besides metadata.name and metadata.namespace. */
const builtin: Readonly<Record<string, readonly string[]>> = {
  pods: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.podIPs',
    'status.nominatedNodeName',
  ],
  events: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'regarding.kind',
    'regarding.namespace',
    'regarding.name',
    'regarding.uid',
    'regarding.apiVersion',
    'regarding.resourceVersion',
    'regarding.fieldPath',
    'reason',
    'reportingComponent',
    'reportingController',
    'source',
    'type',
  ],
  namespaces: ['status.phase'],
  secrets: ['type'],
  nodes: ['spec.unschedulable'],
  services: ['spec.clusterIP', 'spec.type'],
  replicationcontrollers: ['status.replicas'],
  'replicasets.apps': ['status.replicas'],
  'jobs.batch': ['status.successful'],
  'certificatesigningrequests.certificates.k8s.io': ['spec.signerName'],
}

const always = ['metadata.name', 'metadata.namespace']

/** The field labels that selectors of a kind may use. */
export function selectableFields(resource: string, more: readonly string[] = []): ReadonlySet<string> {
  return new Set([...always, ...(builtin[resource] ?? []), ...more])
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
