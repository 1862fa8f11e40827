import type { ResourceType } from '../kube/object.ts'

/** Where one object or a collection is served. No namespace on a namespaced type means all namespaces. */
export function resourcePath(
  type: Pick<ResourceType, 'group' | 'version' | 'plural' | 'namespaced'>,
  place: { readonly namespace?: string; readonly name?: string; readonly subresource?: string } = {},
): string {
  const { namespace, name, subresource } = place
  const root = type.group ? `/apis/${type.group}/${type.version}` : `/api/${type.version}`
  const inNamespace = type.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`
  return `${root}${inNamespace}/${type.plural}${object}${subresource ? `/${subresource}` : ''}`
}
