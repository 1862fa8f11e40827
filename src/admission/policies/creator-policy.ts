import type { KubeObject } from '../../kube/object.ts'
import { shippedPolicies } from './policy.ts'

/** What writes the record: a MutatingAdmissionPolicy (Kubernetes 1.36), the cleaner's webhook (1.30), or nothing: then no record counts. */
export const creatorAdmissions = ['MAP', 'Webhook', 'Off'] as const
export type CreatorAdmission = (typeof creatorAdmissions)[number]

interface CreatorPolicyOptions {
  readonly admission: CreatorAdmission
  /** Users that restore backups: a record that they bring along is kept. */
  readonly restorers: readonly string[]
}

/** How a cluster records who wrote the spec of an object, and refuses forged records; as creator-admission.ts does on the embedded server. */
export function creatorPolicies({ admission, restorers }: CreatorPolicyOptions): readonly KubeObject[] {
  if (admission === 'Off') return []
  const files = ['creator-policies', admission === 'MAP' ? 'creator-recording' : 'creator-webhook'] as const
  const names = JSON.stringify(restorers.map(celText).join(', ')).slice(1, -1)
  const text = JSON.stringify(files.flatMap(shippedPolicies)).replaceAll("'@restorers@'", () => names)
  return JSON.parse(text) as readonly KubeObject[]
}

/** A text in CEL. */
function celText(text: string): string {
  return `'${text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", String.raw`\'`)
    .replaceAll('\n', String.raw`\n`)}'`
}
