import type { ChangeRequest } from '../../src/systems/promoter/repository/change.ts'

/** A change of the value marked `team:app:prod`, with fixed author and time, so that its commit is always the same. */
export function changeRequest(value = '1.1.0', paths: readonly string[] = []): ChangeRequest {
  const [namespace, pipeline, environment] = ['team', 'app', 'prod']
  return {
    promotion: { intentAt },
    values: { namespace, pipeline, environment, revision: value, value, fromRevision: '', id: 'cafe' },
    settings: { paths, commit: { name: 'Sojourn', email: 'promoter@example.org', messageTemplate: 'promote' } },
  }
}

const intentAt = '2023-11-14T22:13:20Z'
