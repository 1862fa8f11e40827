import type { ClusterRole } from '../../src/app/install/rbac.ts'

const follow = ['list', 'watch']
const addedContents = {
  'sojourn.dev/departures patch':
    'contents of a namespace that appear while its record is written: src/departures/records/record-writer.test.ts',
  ...pages(),
}

/** Which snapshots in AWS a cluster uses: no case has an account. */
function snapshotContents(): Readonly<Record<string, string>> {
  const why = 'a policy for snapshots in AWS: test/janitor/aws-costs.test.ts'
  return Object.fromEntries(follow.map((verb) => [`snapshot.storage.k8s.io/volumesnapshotcontents ${verb}`, why]))
}

/** Pages are written when a namespace, a definition or many objects together are deleted, replaced after a crash, and deleted a month later. */
function pages(): Readonly<Record<string, string>> {
  const why = 'records with pages: src/departures/records/record-writer.test.ts, src/departures/door/door.test.ts'
  return Object.fromEntries(
    ['get', 'create', 'update', 'delete'].map((verb) => [`sojourn.dev/departurepages ${verb}`, why]),
  )
}

const recordKeys = 'only with --record-secrets: src/departures/restore/kept-secrets.test.ts'

/** Rights that only accidents need which no case can bring about at will, each with what needs it. Keep this list short. */
export const beyondCases: Readonly<Partial<Record<ClusterRole, Readonly<Record<string, string>>>>> = {
  cleaner: {
    ...addedContents,
    'sojourn.dev/environments/status patch':
      'kubectl exec in an environment: test/kubernetes/environment-webhook.test.ts',
  },
  collector: { ...pages(), '/secrets get in sojourn-system': recordKeys },
  environments: {
    ...addedContents,
    // Announced deletions wait where their number is the limit.
    '/configmaps create in sojourn-system': 'half of a kind: src/departures/door/planned.test.ts',
    '/configmaps patch in sojourn-system': 'half of a kind: src/departures/door/planned.test.ts',
    '/events patch': 'the same Event twice: src/runtime/observability/event-recorder.test.ts',
    'sojourn.dev/departures update':
      'a deletion that was given up is begun again: src/departures/records/record-writer.test.ts',
  },
  promoter: { 'sojourn.dev/approvals delete': 'a month after an approval was given: test/promoter/approval.test.ts' },
  janitor: {
    ...addedContents,
    'sojourn.dev/cleanupcandidates get':
      'two replicas mark the same thing at once: src/systems/janitor/restart.test.ts',
    ...snapshotContents(),
  },
}
