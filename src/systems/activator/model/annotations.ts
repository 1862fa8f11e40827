import type { StoredObject } from '../../../kube/object.ts'

/** All annotations that the activator reads and writes: those of proxless, which users know, and our own. */
export const annotation = {
  deployment: 'proxless/deployment',
  domains: 'proxless/domains',
  ttl: 'proxless/ttl-seconds',
  readiness: 'proxless/readiness-timeout-seconds',
  service: 'proxless/service',
  lastUsed: 'proxless/last-used',
  lastDay: 'sojourn.dev/last-day',
  target: 'sojourn.dev/target',
  wakeWith: 'sojourn.dev/wake-with',
  formerReplicas: 'sojourn.dev/former-replicas',
  minReplicas: 'sojourn.dev/min-replicas',
  wakeReplicas: 'sojourn.dev/wake-replicas',
  awakeHours: 'sojourn.dev/awake-hours',
  awakeUntil: 'sojourn.dev/awake-until',
  awake: 'sojourn.dev/awake',
  asleepUntil: 'sojourn.dev/asleep-until',
  byHandSince: 'sojourn.dev/by-hand-since',
  asleepSince: 'sojourn.dev/asleep-since',
  wakeSeconds: 'sojourn.dev/wake-seconds',
  contended: 'sojourn.dev/contended',
  sleep: 'sojourn.dev/sleep',
  waitingPage: 'sojourn.dev/waiting-page',
  coldStartHeader: 'sojourn.dev/cold-start-header',
  maxWaiting: 'sojourn.dev/max-waiting',
  maxRequestsPerPod: 'sojourn.dev/max-requests-per-pod',
  staticAnswers: 'sojourn.dev/static-answers',
  responseTimeout: 'sojourn.dev/response-timeout-seconds',
  tunnelIdle: 'sojourn.dev/tunnel-idle-seconds',
  pathPrefix: 'sojourn.dev/path-prefix',
  probePaths: 'sojourn.dev/probe-paths',
  probeAgents: 'sojourn.dev/probe-agents',
  port: 'sojourn.dev/port',
  tlsSecret: 'sojourn.dev/tls-secret',
  fallback: 'sojourn.dev/fallback-service',
  fallbackTimeout: 'sojourn.dev/fallback-timeout-seconds',
  takeover: 'sojourn.dev/takeover',
  selector: 'sojourn.dev/selector',
  proxyPorts: 'sojourn.dev/proxy-ports',
  bypassAfter: 'sojourn.dev/bypass-after-seconds',
  activityProbe: 'sojourn.dev/activity-probe',
} as const

/** The label that the activator sets on every workload it scales. */
export const onDemandLabel = { key: 'proxless', value: 'true' } as const

/** An annotation with an unusable value. The Service works as if the annotation were absent. */
export interface Fault {
  readonly annotation: string
  readonly message: string
}

/** Whether a Service names a workload to scale on demand. */
export function isOnDemand({ metadata: { annotations = {} } }: StoredObject): boolean {
  return annotation.deployment in annotations || annotation.target in annotations
}

/** Annotations that have no effect on a Service that names no workload. */
const needsTarget = [annotation.domains, annotation.service, annotation.ttl, annotation.readiness, annotation.takeover]

/** The fault of a Service that has annotations of ours but names no workload. */
export function missingTarget(service: StoredObject): Fault | undefined {
  const { annotations = {} } = service.metadata
  const given = isOnDemand(service) ? undefined : needsTarget.find((key) => key in annotations)
  if (given === undefined) return undefined
  const message = `is missing: ${given} needs it to name the Deployment to wake (or ${annotation.target} to name another workload)`
  return { annotation: annotation.deployment, message }
}
