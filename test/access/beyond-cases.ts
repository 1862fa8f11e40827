import type { ClusterRole } from '../../src/app/install/rbac.ts'

const addedContents = {
  'sojourn.dev/departures patch':
    'contents of a namespace that appear while its record is written: src/departures/records/record-writer.test.ts',
}

/** Rights that only accidents need which no case can bring about at will, each with what needs it. Keep this list short. */
export const beyondCases: Readonly<Partial<Record<ClusterRole, Readonly<Record<string, string>>>>> = {
  cleaner: addedContents,
  environments: addedContents,
  promoter: { 'sojourn.dev/approvals delete': 'a month after an approval was given: test/promoter/approval.test.ts' },
  janitor: {
    ...addedContents,
    'sojourn.dev/cleanupcandidates get':
      'two replicas mark the same thing at once: src/systems/janitor/restart.test.ts',
  },
}
