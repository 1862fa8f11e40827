import { fill, items, type Defaulter, type Json } from './fill.ts'
import { given } from '../validation/parts/checks.ts'
import { requestLimits } from './resources.ts'

/** Defaults of pods, their containers and volumes. */
export const podDefaults: Readonly<Record<string, Defaulter>> = {
  'core/v1.Pod': (pod) => {
    const spec = given(pod, 'spec')
    if (!spec) return
    fill(spec, { enableServiceLinks: true })
    for (const container of allContainers(spec)) {
      requestLimits(container)
      if (spec.hostNetwork === true)
        for (const port of items(container, 'ports')) fill(port, { hostPort: port.containerPort })
    }
  },
  'core/v1.PodSpec': (spec) => {
    // serviceAccount is the deprecated name of the same field.
    const account = spec.serviceAccountName ?? spec.serviceAccount
    if (account !== undefined) Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  },
  'core/v1.Container': fillContainer,
  'core/v1.EphemeralContainer': fillContainer,
  'core/v1.Volume': (volume) => {
    if (Object.keys(volume).every((key) => key === 'name')) volume.emptyDir = {}
    const image = given(volume, 'image')
    if (image) fill(image, { pullPolicy: pullPolicyOf(image.reference) })
  },
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

/** `Always` for images that may change: tagged latest, or without tag and digest. */
function pullPolicyOf(image: unknown): string {
  const [name = '', digest] = typeof image === 'string' ? image.split('@') : []
  const tag = /:([^/:]+)$/.exec(name)?.[1]
  return tag === 'latest' || (tag === undefined && digest === undefined && name !== '') ? 'Always' : 'IfNotPresent'
}
