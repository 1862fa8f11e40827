import { fill, items, part, type Defaulter, type Json } from './fill.ts'
import { given } from '../validation/parts/checks.ts'

/** Defaults of apps and batch, and of ReplicationControllers. */
export const workloadDefaults: Readonly<Record<string, Defaulter>> = {
  'apps/v1.Deployment': (deployment) => {
    const spec = part(deployment, 'spec')
    const strategy = part(spec, 'strategy')
    fill(strategy, { type: 'RollingUpdate' })
    if (strategy.type === 'RollingUpdate')
      fill(part(strategy, 'rollingUpdate'), { maxUnavailable: '25%', maxSurge: '25%' })
  },
  'apps/v1.DaemonSet': (set) => {
    const spec = part(set, 'spec')
    const strategy = part(spec, 'updateStrategy')
    fill(strategy, { type: 'RollingUpdate' })
    if (strategy.type === 'RollingUpdate') fill(part(strategy, 'rollingUpdate'), { maxUnavailable: 1, maxSurge: 0 })
  },
  'apps/v1.StatefulSet': fillStatefulSet,
  'batch/v1.Job': fillJob,
  'core/v1.ReplicationController': (controller) => {
    const template = given(part(controller, 'spec'), 'template')
    const labels = template && given(part(template, 'metadata'), 'labels')
    if (!labels) return
    fill(part(controller, 'spec'), { selector: { ...labels } })
    fill(part(controller, 'metadata'), { labels: { ...labels } })
  },
}

function fillStatefulSet(set: Json): void {
  const spec = part(set, 'spec')
  const strategy = part(spec, 'updateStrategy')
  if (!strategy.type) {
    strategy.type = 'RollingUpdate'
    part(strategy, 'rollingUpdate')
  }
  const rolling = strategy.type === 'RollingUpdate' ? given(strategy, 'rollingUpdate') : undefined
  if (rolling) fill(rolling, { partition: 0 })
  for (const claim of items(spec, 'volumeClaimTemplates'))
    fill(claim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim' })
}

function fillJob(job: Json): void {
  const spec = part(job, 'spec')
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
  fill(spec, {
    parallelism: 1,
    backoffLimit: spec.backoffLimitPerIndex === undefined ? 6 : 2_147_483_647,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed',
    manualSelector: false,
  })
  const labels = given(part(part(spec, 'template'), 'metadata'), 'labels')
  if (labels) fill(part(job, 'metadata'), { labels: { ...labels } })
}
