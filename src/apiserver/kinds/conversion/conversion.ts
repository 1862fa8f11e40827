import type { KubeObject } from '../../../kube/object.ts'
import { autoscalerConversion } from './autoscaler-conversion.ts'
import { eventConversion } from './event-conversion.ts'

/** How a version that is not stored differs from the one that is. */
export interface Conversion {
  readonly toStored: (object: KubeObject) => KubeObject
  readonly fromStored: (object: KubeObject) => KubeObject
}

const conversions: Readonly<Record<string, Conversion>> = {
  'events.k8s.io/v1/Event': eventConversion,
  'autoscaling/v1/HorizontalPodAutoscaler': autoscalerConversion,
}

/** The conversion of a built-in kind's version; undefined for the version that is stored. */
export function conversionOf(apiVersion: string, kind: string): Conversion | undefined {
  return conversions[`${apiVersion}/${kind}`]
}

/** The apiVersion a built-in kind is stored in. */
export function storageVersionOf(apiVersion: string, kind: string): string {
  const stored: Readonly<Record<string, string>> = {
    'events.k8s.io/v1/Event': 'v1',
    'autoscaling/v1/HorizontalPodAutoscaler': 'autoscaling/v2',
  }
  return stored[`${apiVersion}/${kind}`] ?? apiVersion
}
