/** The part of the changelog about one version, without its heading; throws if there is none. */
export function notesOf(changelog: string, version: string): string {
  const parts = changelog.split(/^## /m)
  const part = parts.find((text) => text.split(/[\s\n]/)[0] === version)
  if (part === undefined) throw new Error(`CHANGELOG.md has no heading "## ${version}"`)
  return `${part.slice(part.indexOf('\n')).trim()}\n`
}
