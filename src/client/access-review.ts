import type { ResourceType } from '../kube/object.ts'
import type { Client } from './client.ts'

/** Asks the cluster whether a user may do something: the `spec` of a SubjectAccessReview. Throws when it does not answer. */
export async function isAllowed(client: Client, spec: Readonly<Record<string, unknown>>): Promise<boolean> {
  const review = await client.create<{ status?: { allowed?: boolean } }>(accessReviews, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec,
  })
  return review.status?.allowed === true
}

const accessReviews: ResourceType = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
}
