import type { KubeObject } from '../../../kube/object.ts'
import type { KindRules } from './kind-rules.ts'

/** Moves the write-only `stringData` into `data`. */
export const secretRules: Partial<KindRules> = {
  prepareCreate: foldStringData,
  prepareUpdate: (object) => foldStringData(object),
}

function foldStringData(object: KubeObject): KubeObject {
  const { stringData, ...rest } = object
  if (typeof stringData !== 'object' || stringData === null) return object
  const encoded = Object.entries(stringData).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')])
  return {
    ...rest,
    data: { ...(object.data as object | undefined), ...(Object.fromEntries(encoded) as object) },
  } as KubeObject
}
