/** Names of Kubernetes objects are lower case. */
export function kubeName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-.]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
}
