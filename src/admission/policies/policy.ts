import type { KubeObject } from '../../kube/object.ts'
import { yaml } from '../../kube/yaml.ts'
import { readPackageFile } from '../../packaging/package-files.ts'

/** Policies are YAML files, in deploy/policies and in the package: that is how their readers know them. */
export type PolicyFile =
  | 'approvals'
  | `${'keep' | 'bond' | 'record' | 'service' | 'creator'}-policies`
  | `creator-${'recording' | 'webhook'}`
  | 'pod-security'

export function shippedPolicies(file: PolicyFile): readonly KubeObject[] {
  const documents = yaml().parseAllDocuments(readPackageFile(`policies/${file}.yaml`).toString())
  return [...documents].map((document) => document.toJSON() as KubeObject)
}
