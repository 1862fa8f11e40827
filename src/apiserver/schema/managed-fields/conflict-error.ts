import { StatusError } from '../../../kube/status-error.ts'
import type { Managers } from './managers.ts'
import type { FieldConflict } from './ownership.ts'
import { describePath } from './path-element.ts'

/** The 409 that names every conflicting field and its owner, as kubectl prints it. */
export function conflictError(conflicts: readonly FieldConflict[], managers: Managers): StatusError {
  const causes = conflicts.map(({ managerId, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${describeManager(managers, managerId)}`,
    field: describePath(path),
  }))
  return new StatusError('Conflict', messageOf(conflicts, managers), { details: { causes } })
}

function messageOf(conflicts: readonly FieldConflict[], managers: Managers): string {
  const [first] = conflicts
  if (conflicts.length === 1 && first) {
    return `Apply failed with 1 conflict: conflict with ${describeManager(managers, first.managerId)}: ${describePath(first.path)}`
  }
  const byManager = Map.groupBy(conflicts, ({ managerId }) => managerId)
  const lines = [...byManager].flatMap(([id, theirs]) => [
    `conflicts with ${describeManager(managers, id)}:`,
    ...theirs.map(({ path }) => `- ${describePath(path)}`),
  ])
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

function describeManager(managers: Managers, id: string): string {
  const entry = managers.get(id)
  if (!entry) return JSON.stringify(id)
  const name =
    JSON.stringify(entry.manager) + (entry.subresource ? ` with subresource ${JSON.stringify(entry.subresource)}` : '')
  return entry.operation === 'Update' ? `${name} using ${entry.apiVersion}` : name
}
