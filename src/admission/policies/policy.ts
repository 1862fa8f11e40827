import { sojournNamespace } from '../../apis/group.ts'
import type { KubeObject } from '../../kube/object.ts'
import { yaml } from '../../kube/yaml.ts'
import { readPackageFile } from '../../packaging/package-files.ts'

export const policyVersion = 'admissionregistration.k8s.io/v1'
export const policyLabels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }

/** A ValidatingAdmissionPolicy that fails closed, with its binding. Needs Kubernetes 1.30. */
export function boundPolicy(name: string, spec: Readonly<Record<string, unknown>>): readonly KubeObject[] {
  const metadata = { name, labels: policyLabels }
  return [
    {
      apiVersion: policyVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: { failurePolicy: 'Fail', ...spec },
    },
    {
      apiVersion: policyVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ]
}

const rolesWithAccounts = ['cleaner', 'collector', 'janitor', 'promoter', 'activator', 'environments'] as const

/** The user names of the accounts under which a role runs: its own, or the one that all roles share. */
export function accountsOf(role: (typeof rolesWithAccounts)[number]): readonly string[] {
  return [`sojourn-${role}`, 'sojourn'].map((name) => `system:serviceaccount:${sojournNamespace}:${name}`)
}

/** The user names of Sojourn's accounts in a cluster. */
export const sojournAccounts: readonly string[] = [...new Set(rolesWithAccounts.flatMap(accountsOf))]

/** A list of texts in CEL. */
export function celList(texts: readonly string[]): string {
  return `[${texts.map(celText).join(', ')}]`
}

/** A text in CEL. */
export function celText(text: string): string {
  return `'${text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", String.raw`\'`)
    .replaceAll('\n', String.raw`\n`)}'`
}

/** The annotations of `object` or `oldObject` in CEL; none where there are none, and before a create. */
export function celAnnotations(object: 'object' | 'oldObject'): string {
  return `${object} != null && has(${object}.metadata.annotations) ? ${object}.metadata.annotations : {}`
}

/** Policies without parameters are YAML files, in deploy/policies and in the package: that is how their readers know them. */
export type PolicyFile = 'approvals' | 'keep-policies' | 'bond-policies' | 'record-policies' | 'service-policies'

export function shippedPolicies(file: PolicyFile): readonly KubeObject[] {
  const documents = yaml().parseAllDocuments(readPackageFile(`policies/${file}.yaml`).toString())
  return [...documents].map((document) => document.toJSON() as KubeObject)
}
