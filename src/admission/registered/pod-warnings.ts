import { parseQuantity } from '../../kube/basics/quantity.ts'
import type { KubeObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import type { AdmissionHook } from '../../apiserver/objects/contract/admission.ts'

type Fields = Readonly<Record<string, unknown>>

/** Warns of what a Pod or a template of Pods contains and no kubelet takes into account. Worded as by kube-apiserver. */
export const podWarnings: AdmissionHook = {
  validate({ operation, type, subresource, object, old }) {
    const path = templatePaths[type.resource]
    if (operation === 'DELETE' || path === undefined || subresource || !object) return []
    if (old && deepEqual(object.spec, old.spec)) return []
    const template = path
      .split('.')
      .reduce<Fields>((at, step) => (step ? fieldsOf(at[step]) : at), object as KubeObject & Fields)
    const prefix = path ? `${path}.` : ''
    const { metadata, spec } = template
    return [...annotationWarnings(fieldsOf(metadata), prefix), ...specWarnings(fieldsOf(spec), `${prefix}spec`)]
  },
}

/** Where each kind has its template; '' for Pods. */
const templatePaths: Readonly<Record<string, string>> = {
  pods: '',
  podtemplates: 'template',
  replicationcontrollers: 'spec.template',
  'deployments.apps': 'spec.template',
  'replicasets.apps': 'spec.template',
  'statefulsets.apps': 'spec.template',
  'daemonsets.apps': 'spec.template',
  'jobs.batch': 'spec.template',
  'cronjobs.batch': 'spec.jobTemplate.spec.template',
}

const criticalPod = 'scheduler.alpha.kubernetes.io/critical-pod'

function* annotationWarnings({ annotations }: Fields, prefix: string): Generator<string> {
  for (const key of Object.keys(fieldsOf(annotations)).toSorted()) {
    const at = `${prefix}metadata.annotations[${key}]: non-functional in`
    if (key === criticalPod) yield `${at} v1.16+; use the "priorityClassName" field instead`
    else if (/^(container\.)?seccomp\.security\.alpha\.kubernetes\.io\//.test(key))
      yield `${at} v1.27+; use the "seccompProfile" field instead`
  }
}

const replacedLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
}

function* specWarnings(spec: Fields, at: string): Generator<string> {
  for (const key of Object.keys(fieldsOf(spec['nodeSelector'])).toSorted())
    if (replacedLabels[key]) yield `${at}.nodeSelector[${key}]: ${replacedLabels[key]}`
  yield* repeated(
    listOf(spec['hostAliases']),
    ({ ip }) => ip,
    (index, ip) => `${at}.hostAliases[${index}].ip: duplicate ip "${ip}"`,
  )
  for (const [index, { name }] of listOf(spec['imagePullSecrets']).entries())
    if (!name) yield `${at}.imagePullSecrets[${index}].name: invalid empty name ""`
  for (const field of ['initContainers', 'containers'])
    for (const [index, container] of listOf(spec[field]).entries())
      yield* containerWarnings(container, `${at}.${field}[${index}]`)
  const seconds = spec['terminationGracePeriodSeconds']
  if (typeof seconds === 'number' && seconds < 0)
    yield `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`
}

function* containerWarnings({ resources, env, ports }: Fields, at: string): Generator<string> {
  for (const name of ['memory', 'ephemeral-storage'])
    for (const field of ['limits', 'requests']) {
      const amount = fieldsOf(fieldsOf(resources)[field])[name] as string | undefined
      if (amount !== undefined && (parseQuantity(amount)?.nanos ?? 0n) % 1_000_000_000n !== 0n)
        yield `${at}.resources.${field}[${name}]: fractional byte value "${amount}" is invalid, must be an integer`
    }
  yield* repeated(
    listOf(env),
    ({ name }) => name,
    (index, name) =>
      `${at}.env[${index}]: hides previous definition of "${name}", which may be dropped when using apply`,
  )
  const portOf = ({ containerPort, protocol, hostIP, hostPort }: Fields) =>
    [containerPort, protocol, hostIP, hostPort].join(' ')
  yield* repeated(
    listOf(ports),
    portOf,
    (index, _, first) => `${at}.ports[${index}]: duplicate port definition with ${at}.ports[${first}]`,
  )
}

/** Warns of each item whose key an earlier one has. */
function* repeated(
  items: readonly Fields[],
  keyOf: (item: Fields) => unknown,
  warn: (index: number, key: string, first: number) => string,
): Generator<string> {
  const seen = new Map<string, number>()
  for (const [index, item] of items.entries()) {
    const key = String(keyOf(item))
    const first = seen.get(key)
    if (first === undefined) seen.set(key, index)
    else yield warn(index, key, first)
  }
}

function fieldsOf(value: unknown): Fields {
  return (value ?? {}) as Fields
}

function listOf(value: unknown): readonly Fields[] {
  return (value ?? []) as readonly Fields[]
}
