import { groupResource } from '../../../kube/object.ts'
import { notFound, StatusError } from '../../../kube/status-error.ts'
import { immortalNamespaces } from '../../kinds/rules/namespace-rules.ts'
import type { View } from '../../store/store.ts'
import type { AdmissionHook, Review } from '../contract/admission.ts'
import { detailsOf, forbidden } from '../contract/failures.ts'

const namespaces = { group: '', plural: 'namespaces' }

/** Forbids deleting the namespaces that every cluster needs. */
export const namespaceLifecycle: AdmissionHook = {
  validate({ operation, type, name }) {
    if (operation === 'DELETE' && type.resource === 'namespaces' && immortalNamespaces.has(name))
      throw forbidden(namespaces, name, 'this namespace may not be deleted')
  },
}

/** Refuses a create in a namespace that does not exist or is terminating. Runs before all other checks. */
export function requireNamespace({
  type,
  namespace,
  name,
  view,
}: Pick<Review, 'type' | 'namespace' | 'name'> & { view: View }): void {
  if (!type.namespaced) return
  const record = view.get({ resource: 'namespaces', namespace: '', name: namespace })
  if (!record) throw notFound(namespaces, namespace)
  if (record.document.value.metadata.deletionTimestamp === undefined) return
  throw new StatusError(
    'Forbidden',
    `${groupResource(type)} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
    {
      details: {
        ...detailsOf(type, name),
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
    },
  )
}
