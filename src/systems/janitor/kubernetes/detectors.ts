import type { Detector } from './references/detector.ts'
import { bindingDetector, roleDetector, serviceAccountDetector } from './detectors/access.ts'
import { configurationDetector } from './detectors/configuration.ts'
import { definitionDetector, priorityClassDetector } from './detectors/definitions.ts'
import { namespaceDetector } from './detectors/namespaces.ts'
import { autoscalerDetector, ingressDetector, podSelectorDetector, serviceDetector } from './detectors/network.ts'
import { attachmentDetector, claimDetector, storageClassDetector, volumeDetector } from './detectors/storage.ts'
import {
  cronJobDetector,
  daemonSetDetector,
  jobDetector,
  podDetector,
  replicaSetDetector,
  scaledDetector,
} from './detectors/workloads.ts'

/** Every detector there is. A new kind is one more file and one more line here. */
const detectors: readonly Detector[] = [
  configurationDetector,
  claimDetector,
  volumeDetector,
  attachmentDetector,
  storageClassDetector,
  priorityClassDetector,
  definitionDetector,
  serviceDetector,
  ingressDetector,
  autoscalerDetector,
  podSelectorDetector,
  scaledDetector,
  replicaSetDetector,
  daemonSetDetector,
  jobDetector,
  podDetector,
  cronJobDetector,
  bindingDetector,
  roleDetector,
  serviceAccountDetector,
  namespaceDetector,
]

const byKind = new Map(detectors.flatMap((detector) => detector.kinds.map((kind) => [kind, detector] as const)))

/** `Kind.group` of every kind whose use can be determined. */
export const detectedKinds: readonly string[] = [...byKind.keys()]

/** The detector for `Kind.group`; undefined when none knows the kind. */
export function detectorFor(kind: string): Detector | undefined {
  return byKind.get(kind)
}
