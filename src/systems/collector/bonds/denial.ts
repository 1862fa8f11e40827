import { inUsePolicy } from '../../../apis/bond.ts'
import type { Client } from '../../../client/client.ts'
import { isEmbedded } from '../../../client/embedded.ts'
import type { ResourceType } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import type { Denial } from './bond-decide.ts'

/** Whether a cluster refuses to delete objects with our label: the embedded server does, any other by the admission policy that `sojourn install` prints. */
export async function denialIn(home: Client): Promise<Denial> {
  if (await isEmbedded(home)) return 'marked'
  try {
    await home.get(policyBindings, { name: inUsePolicy }, { metadataOnly: true })
    return 'marked'
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return 'ignored'
    if (isStatusError(error, 'Forbidden')) return 'unknown'
    throw error
  }
}

const policyBindings: ResourceType = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  namespaced: false,
}
