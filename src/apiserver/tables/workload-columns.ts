import { formatSelector, requirementsOf, type LabelSelector } from '../../kube/selector.ts'
import { formatAge, parseTime } from '../../kube/time.ts'
import type { KubeObject } from '../../kube/object.ts'
import { age, ageColumn, column, count, nameColumn, wide, type Column } from './column.ts'
import { conditionStatus, joined, read, readList, readNumber, readText } from './read.ts'

/** The columns of kinds that run pods, by resource. */
export const workloadColumns: Readonly<Record<string, readonly Column[]>> = {
  'deployments.apps': [
    nameColumn,
    column('Ready', (object) => `${readNumber(object, 'status.readyReplicas')}/${readNumber(object, 'spec.replicas')}`),
    count('Up-to-date', (object) => read(object, 'status.updatedReplicas')),
    count('Available', (object) => read(object, 'status.availableReplicas')),
    ageColumn,
    ...wide(...templateColumns('spec.template.spec'), selectorColumn()),
  ],
  'replicasets.apps': [
    nameColumn,
    ...replicaCounts(),
    ageColumn,
    ...wide(...templateColumns('spec.template.spec'), selectorColumn()),
  ],
  replicationcontrollers: [
    nameColumn,
    ...replicaCounts(),
    ageColumn,
    ...wide(
      ...templateColumns('spec.template.spec'),
      column('Selector', (object) => labels(read(object, 'spec.selector') as Record<string, string> | undefined)),
    ),
  ],
  'statefulsets.apps': [
    nameColumn,
    column('Ready', (object) => `${readNumber(object, 'status.readyReplicas')}/${readNumber(object, 'spec.replicas')}`),
    ageColumn,
    ...wide(...templateColumns('spec.template.spec')),
  ],
  'daemonsets.apps': [
    nameColumn,
    count('Desired', (object) => read(object, 'status.desiredNumberScheduled')),
    count('Current', (object) => read(object, 'status.currentNumberScheduled')),
    count('Ready', (object) => read(object, 'status.numberReady')),
    count('Up-to-date', (object) => read(object, 'status.updatedNumberScheduled')),
    count('Available', (object) => read(object, 'status.numberAvailable')),
    column('Node Selector', (object) =>
      labels(read(object, 'spec.template.spec.nodeSelector') as Record<string, string> | undefined),
    ),
    ageColumn,
    ...wide(...templateColumns('spec.template.spec'), selectorColumn()),
  ],
  'jobs.batch': [
    nameColumn,
    column('Status', jobStatus),
    column('Completions', completions),
    { name: 'Duration', cell: jobDuration },
    ageColumn,
    ...wide(...templateColumns('spec.template.spec'), selectorColumn()),
  ],
  'cronjobs.batch': [
    nameColumn,
    column('Schedule', (object) => readText(object, 'spec.schedule')),
    column('Timezone', (object) => readText(object, 'spec.timeZone', '<none>')),
    column('Suspend', (object) => (read(object, 'spec.suspend') === true ? 'True' : 'False')),
    count('Active', (object) => readList(object, 'status.active').length),
    {
      name: 'Last Schedule',
      cell: (object, now) => {
        const last = readText(object, 'status.lastScheduleTime')
        return last ? age(last, now) : '<none>'
      },
    },
    ageColumn,
    ...wide(
      ...templateColumns('spec.jobTemplate.spec.template.spec'),
      column('Selector', () => '<none>'),
    ),
  ],
}

/** A selector as kubectl prints it. */
export function selectorText(selector: unknown): string {
  if (typeof selector !== 'object' || selector === null) return '<none>'
  try {
    return formatSelector(requirementsOf(selector as LabelSelector)) || '<none>'
  } catch {
    return '<error>'
  }
}

/** A map of labels as `a=b,c=d`. */
export function labels(map: Readonly<Record<string, string>> | undefined): string {
  return joined(Object.entries(map ?? {}).map(([key, value]) => `${key}=${value}`))
}

function replicaCounts(): Column[] {
  return [
    count('Desired', (object) => read(object, 'spec.replicas')),
    count('Current', (object) => read(object, 'status.replicas')),
    count('Ready', (object) => read(object, 'status.readyReplicas')),
  ]
}

function templateColumns(path: string): Column[] {
  const containers = (object: KubeObject) => readList<{ name?: string; image?: string }>(object, `${path}.containers`)
  return [
    column('Containers', (object) =>
      containers(object)
        .map(({ name }) => name)
        .join(','),
    ),
    column('Images', (object) =>
      containers(object)
        .map(({ image }) => image)
        .join(','),
    ),
  ]
}

function selectorColumn(): Column {
  return column('Selector', (object) => selectorText(read(object, 'spec.selector')))
}

function jobStatus(job: KubeObject): string {
  if (conditionStatus(job, 'Complete') === 'True') return 'Complete'
  if (conditionStatus(job, 'Failed') === 'True') return 'Failed'
  if (job.metadata.deletionTimestamp) return 'Terminating'
  if (conditionStatus(job, 'Suspended') === 'True') return 'Suspended'
  if (conditionStatus(job, 'FailureTarget') === 'True') return 'FailureTarget'
  if (conditionStatus(job, 'SuccessCriteriaMet') === 'True') return 'SuccessCriteriaMet'
  return 'Running'
}

function completions(job: KubeObject): string {
  const succeeded = readNumber(job, 'status.succeeded')
  const wanted = read(job, 'spec.completions')
  if (typeof wanted === 'number') return `${succeeded}/${wanted}`
  const parallelism = readNumber(job, 'spec.parallelism')
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function jobDuration(job: KubeObject, now: number): string {
  const startedAt = parseTime(readText(job, 'status.startTime'))
  if (startedAt === undefined) return ''
  return formatAge((parseTime(readText(job, 'status.completionTime')) ?? now) - startedAt)
}
