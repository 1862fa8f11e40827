import { fill, items, optional, type Defaulter, type Json } from './fill.ts'
import { requestLimits } from './resources.ts'

/** Defaults of pods, their containers and volumes. */
export const podDefaults: Readonly<Record<string, Defaulter>> = {
  'core/v1.Pod': (pod) => {
    const spec = optional(pod, 'spec')
    if (!spec) return
    fill(spec, { enableServiceLinks: true })
    for (const container of allContainers(spec)) {
      requestLimits(container)
      if (spec.hostNetwork === true)
        for (const port of items(container, 'ports')) fill(port, { hostPort: port.containerPort })
    }
  },
  'core/v1.PodSpec': (spec) => {
    fill(spec, {
      dnsPolicy: 'ClusterFirst',
      restartPolicy: 'Always',
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      schedulerName: 'default-scheduler',
    })
    // serviceAccount is the deprecated name of the same field.
    const account = spec.serviceAccountName ?? spec.serviceAccount
    if (account !== undefined) Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  },
  'core/v1.Container': fillContainer,
  'core/v1.EphemeralContainer': fillContainer,
  'core/v1.Probe': (probe) =>
    fill(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }),
  'core/v1.HTTPGetAction': (action) => fill(action, { path: '/', scheme: 'HTTP' }),
  'core/v1.GRPCAction': (action) => fill(action, { service: '' }),
  'core/v1.ObjectFieldSelector': (selector) => fill(selector, { apiVersion: 'v1' }),
  'core/v1.Volume': (volume) => {
    if (Object.keys(volume).every((key) => key === 'name')) volume.emptyDir = {}
    const image = optional(volume, 'image')
    if (image) fill(image, { pullPolicy: pullPolicyOf(image.reference) })
  },
  'core/v1.SecretVolumeSource': fillMode,
  'core/v1.ConfigMapVolumeSource': fillMode,
  'core/v1.DownwardAPIVolumeSource': fillMode,
  'core/v1.ProjectedVolumeSource': fillMode,
  'core/v1.ServiceAccountTokenProjection': (token) => fill(token, { expirationSeconds: 3600 }),
  'core/v1.HostPathVolumeSource': (source) => fill(source, { type: '' }),
}

/** The containers of a pod that count for scheduling. */
function allContainers(spec: Json): readonly Json[] {
  return [...items(spec, 'containers'), ...items(spec, 'initContainers')]
}

function fillContainer(container: Json): void {
  fill(container, {
    imagePullPolicy: pullPolicyOf(container.image),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  })
}

function fillMode(source: Json): void {
  fill(source, { defaultMode: 0o644 })
}

/** `Always` for images that may change: tagged latest, or without tag and digest. */
function pullPolicyOf(image: unknown): string {
  const [name = '', digest] = typeof image === 'string' ? image.split('@') : []
  const tag = /:([^/:]+)$/.exec(name)?.[1]
  return tag === 'latest' || (tag === undefined && digest === undefined && name !== '') ? 'Always' : 'IfNotPresent'
}
