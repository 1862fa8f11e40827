import { amountOf } from '../../kube/basics/quantity.ts'
import type { Client } from '../../client/client.ts'
import type { StoredObject } from '../../kube/object.ts'
import { configMaps, secrets } from '../../kube/core-types.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Container, Pod } from '../types.ts'
import type { PortMap } from '../ports-annotation.ts'

export interface EnvironmentFacts {
  readonly client: Client
  readonly pod: Pod
  readonly container: Container
  readonly ports: PortMap
  readonly podIP: string
  readonly nodeName: string
  /** Environment variables every process inherits, such as PATH and HOME. */
  readonly inherited: Readonly<Record<string, string | undefined>>
}

/** A container's environment variables, with `PORT` set to its first port. Throws when a referenced object or key is missing. */
export async function containerEnvironment(facts: EnvironmentFacts): Promise<Record<string, string>> {
  const { container, ports, inherited } = facts
  const env: Record<string, string> = Object.fromEntries(
    Object.entries(inherited).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  env.HOSTNAME = facts.pod.spec.hostname ?? facts.pod.metadata.name
  const [first] = container.ports ?? []
  if (first) env.PORT = String(ports[first.containerPort] ?? first.containerPort)
  for (const { containerPort } of container.ports ?? [])
    env[`PORT_${containerPort}`] = String(ports[containerPort] ?? containerPort)
  for (const source of container.envFrom ?? []) {
    const found = source.configMapRef
      ? await read(facts, 'ConfigMap', source.configMapRef)
      : source.secretRef
        ? await read(facts, 'Secret', source.secretRef)
        : {}
    for (const [key, value] of Object.entries(found)) env[`${source.prefix ?? ''}${key}`] = value
  }
  for (const { name, value, valueFrom } of container.env ?? []) {
    const resolved = valueFrom ? await valueOf(facts, valueFrom) : expand(value ?? '', env)
    if (resolved !== undefined) env[name] = resolved
  }
  return env
}

/** Replaces `$(NAME)` by the variable's value; `$$(NAME)` becomes `$(NAME)`, and unknown names are unchanged. */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)/g, (whole, name: string | undefined) =>
    name === undefined ? '$' : (env[name] ?? whole),
  )
}

type ValueFrom = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>

async function valueOf(
  facts: EnvironmentFacts,
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef }: ValueFrom,
): Promise<string | undefined> {
  if (fieldRef) return fieldOf(facts, fieldRef.fieldPath)
  if (resourceFieldRef) return resourceOf(facts, resourceFieldRef)
  const kind = configMapKeyRef ? 'ConfigMap' : 'Secret'
  const reference = configMapKeyRef ?? secretKeyRef
  if (!reference) return undefined
  const value = (await read(facts, kind, reference))[reference.key]
  if (value === undefined && !reference.optional)
    throw new Error(`couldn't find key ${reference.key} in ${kind} ${facts.pod.metadata.namespace}/${reference.name}`)
  return value
}

function fieldOf({ pod, podIP, nodeName }: EnvironmentFacts, path: string): string {
  const { name, namespace = '', uid, labels = {}, annotations = {} } = pod.metadata
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path)
  if (keyed) return (keyed[1] === 'labels' ? labels : annotations)[keyed[2] ?? ''] ?? ''
  const fields: Record<string, string> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
    'spec.nodeName': nodeName,
    'status.podIP': podIP,
    'status.podIPs': podIP,
    'status.hostIP': podIP,
    'status.hostIPs': podIP,
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? 'default',
  }
  return fields[path] ?? ''
}

/** A limit or request of a container divided by the divisor, rounded up. Without a limit it is the node's capacity. */
function resourceOf(
  { pod, container }: EnvironmentFacts,
  { containerName, resource, divisor = 1 }: NonNullable<ValueFrom['resourceFieldRef']>,
): string {
  const [part = '', name = ''] = resource.split('.', 2)
  const { resources = {} } = pod.spec.containers.find((each) => each.name === containerName) ?? container
  const { limits = {}, requests = {} } = resources
  const written = part === 'limits' ? (limits[name] ?? nodeCapacity[name]) : (requests[name] ?? limits[name])
  return String(Math.ceil(amountOf(written ?? 0) / (amountOf(divisor) || 1)))
}

const nodeCapacity: Readonly<Record<string, string>> = { cpu: '8', memory: '16Gi', 'ephemeral-storage': '100Gi' }

async function read(
  { client, pod }: EnvironmentFacts,
  kind: 'ConfigMap' | 'Secret',
  { name, optional }: { readonly name: string; readonly optional?: boolean },
): Promise<Record<string, string>> {
  const object = await client
    .get<StoredObject>(kind === 'Secret' ? secrets : configMaps, { namespace: pod.metadata.namespace ?? '', name })
    .catch(ignoring('NotFound'))
  if (!object) {
    if (optional) return {}
    throw new Error(`${kind.toLowerCase()} "${name}" not found`)
  }
  const data = (object.data ?? {}) as Record<string, string>
  if (kind === 'ConfigMap') return data
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
  )
}
