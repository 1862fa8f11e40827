import type { CleanupPolicy, CleanupPolicySpec } from '../../src/apis/cleanup-policy.ts'
import type { Mark } from '../../src/systems/janitor/decision/decide.ts'
import { noHistory, type JudgeContext } from '../../src/systems/janitor/verdict/judge.ts'
import { compilePolicy, type CompiledPolicy } from '../../src/systems/janitor/policy/policy.ts'
import type { Resource } from '../../src/systems/janitor/model/resource.ts'

/** Monday, 2026-03-02 10:00 UTC. */
export const now = 1_772_445_600_000
export const day = 86_400_000
export const hour = 3_600_000

/** A resource that is thirty days old and unused, but for what the case says. */
export function resource(given: Partial<Resource> = {}): Resource {
  const { name = 'thing', namespace = 'shop', kind = 'ConfigMap', tags = {}, labels = {} } = given
  const uid = given.uid ?? `uid-${name}`
  return {
    provider: 'kubernetes',
    kind,
    apiVersion: 'v1',
    namespace,
    name,
    uid,
    resourceVersion: '7',
    cluster: '',
    createdAt: now - 30 * day,
    tags,
    labels,
    use: { state: 'unused', because: 'nothing mentions it' },
    object: { apiVersion: 'v1', kind, metadata: { name, namespace, uid, labels, annotations: tags } },
    ...given,
  }
}

/** A policy object that matches everything older than a day, but for what the case says. */
export function policyObject(spec: Partial<CleanupPolicySpec> = {}, name = 'tidy'): CleanupPolicy {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'CleanupPolicy',
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 1,
    },
    spec: {
      targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }] } }],
      rules: [{ rules: [{ name: 'AgeRule', parameters: { moreThanDays: 1 } }] }],
      minAge: '0',
      ...spec,
    },
  }
}

/** The same, compiled; throws when it has problems. */
export function policy(spec: Partial<CleanupPolicySpec> = {}): CompiledPolicy {
  const compiled = compilePolicy(policyObject(spec))
  if ('problems' in compiled) throw new Error(JSON.stringify(compiled.problems))
  return compiled
}

/** Nothing protects, nothing is remembered, it is now. */
export function judgeContext(given: Partial<JudgeContext> = {}): JudgeContext {
  return { protection: () => undefined, owners: {}, ledger: noHistory, now, ...given }
}

/** A mark that was announced and is due in a day, but for what the case says. */
export function mark(given: Partial<Mark> = {}): Mark {
  return {
    phase: 'Notified',
    isOfFormerPolicy: false,
    markedAt: now - 14 * day,
    hold: false,
    notBefore: undefined,
    projectedAt: now + day,
    promisedAt: undefined,
    announcedAt: now - 13 * day,
    lastNoticeAt: undefined,
    noticeFailed: false,
    isCopyMissing: false,
    hasOwner: true,
    scheduledAt: undefined,
    nextAttemptAt: undefined,
    finishedAt: undefined,
    ...given,
  }
}
