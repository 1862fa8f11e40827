import { readPackageFile } from '../../packaging/package-files.ts'

/** The version of what is installed here. */
export function ownVersion(): string {
  return (JSON.parse(readPackageFile('package.json').toString()) as { version: string }).version
}
