import type { ResourceType } from '../kube/object.ts'
import type { Client } from './client.ts'

/**
 * Asks the cluster whether a user may do something: the `spec` of a SubjectAccessReview, or of a SelfSubjectAccessReview where it names no
 * user. Throws when it does not answer.
 */
export async function isAllowed(client: Client, spec: Readonly<Record<string, unknown>>): Promise<boolean> {
  const { kind, plural } = 'user' in spec ? accessReviews : selfAccessReviews
  const type = { ...accessReviews, kind, plural }
  const review = await client.create<{ status?: { allowed?: boolean } }>(type, {
    apiVersion: 'authorization.k8s.io/v1',
    kind,
    metadata: {},
    spec,
  })
  return review.status?.allowed === true
}

const selfAccessReviews = { kind: 'SelfSubjectAccessReview', plural: 'selfsubjectaccessreviews' }

const accessReviews: ResourceType = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
}
