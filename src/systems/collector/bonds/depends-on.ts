/** cli-utils' annotation: what an object needs, as references separated by commas. */
export const dependsOnAnnotation = 'config.kubernetes.io/depends-on'

/** What one reference of the annotation means: a kind by its group, without a version. */
export interface DependsOnReference {
  readonly group: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/**
 * Parses the annotation: `group/namespaces/NAMESPACE/Kind/name` or, for cluster-scoped objects, `group/Kind/name`; the core group is empty, so that
 * its references begin with a slash. Returns an error message when a part of it is not a reference.
 */
export function parseDependsOn(text: string): readonly DependsOnReference[] | string {
  const references: DependsOnReference[] = []
  for (const part of text.split(',').map((piece) => piece.trim())) {
    const reference = parseReference(part)
    if (!reference)
      return `"${part}" is not a reference: it must be GROUP/namespaces/NAMESPACE/KIND/NAME or GROUP/KIND/NAME`
    references.push(reference)
  }
  return references
}

function parseReference(text: string): DependsOnReference | undefined {
  const parts = text.split('/')
  if (parts.slice(1).some((part) => part === '')) return undefined
  if (parts.length === 3) {
    const [group = '', kind = '', name = ''] = parts
    return { group, kind, name }
  }
  const [group = '', word, namespace = '', kind = '', name = ''] = parts
  return parts.length === 5 && word === 'namespaces' ? { group, kind, namespace, name } : undefined
}
