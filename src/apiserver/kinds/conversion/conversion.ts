import type { KubeObject } from '../../../kube/object.ts'
import { autoscalerConversion } from './autoscaler-conversion.ts'
import { eventConversion } from './event-conversion.ts'

/** Converts between a served version of a kind and the version that is stored. */
export interface Conversion {
  /** The apiVersion that is stored. */
  readonly storageVersion: string
  readonly toStored: (object: KubeObject) => KubeObject
  readonly fromStored: (object: KubeObject) => KubeObject
}

const conversions: Readonly<Record<string, Conversion>> = {
  'events.k8s.io/v1/Event': eventConversion,
  'autoscaling/v1/HorizontalPodAutoscaler': autoscalerConversion,
}

/** The conversion of a built-in kind's version; undefined when that version is stored as it is. */
export function conversionOf(apiVersion: string, kind: string): Conversion | undefined {
  return conversions[`${apiVersion}/${kind}`]
}
