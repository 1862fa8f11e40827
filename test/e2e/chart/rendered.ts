import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../../src/kube/object.ts'
import type { Session } from '../kubectl/session.ts'

export const chart = join(import.meta.dirname, '../../../deploy/chart')
export const here = '-n sojourn-system'

/** The manifests that the real helm renders with these flags. */
export async function render(session: Session, flags = ''): Promise<readonly KubeObject[]> {
  const text = await session.run(`template sojourn ${chart} ${here} ${flags}`)
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? [])
}

export function names(objects: readonly KubeObject[], wanted: string): readonly string[] {
  return objects.filter(({ kind }) => kind === wanted).map(({ metadata }) => metadata.name ?? '')
}

/** A Deployment's pod template. */
export interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly serviceAccountName: string
    readonly containers: readonly (Readonly<Record<string, unknown>> & { readonly args: readonly string[] })[]
  }
}

/** The pods of every role, by the name of its Deployment. */
export function podsOf(objects: readonly KubeObject[]): ReadonlyMap<string, PodTemplate> {
  return new Map(
    objects
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ metadata, spec }) => [metadata.name ?? '', (spec as { template: PodTemplate }).template]),
  )
}
