import type { Client } from '../../../client/client.ts'
import { parseApiVersion, type ResourceType } from '../../../kube/object.ts'

/**
 * The kind of an application in the version asked for or, as versions go out of service, in the one that the cluster prefers. What is
 * read and what rights are checked for must be the same, so both ask here.
 */
export async function servedType(
  { discovery }: Client,
  app: { readonly apiVersion: string; readonly kind: string },
): Promise<ResourceType | undefined> {
  const { group } = parseApiVersion(app.apiVersion)
  return (await discovery.typeOf(app)) ?? (group ? discovery.find(`${app.kind}.${group}`) : undefined)
}
