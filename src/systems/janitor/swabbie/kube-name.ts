/** A name that Kubernetes accepts: lower case, other characters replaced by dashes. */
export function kubeName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-.]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
}
