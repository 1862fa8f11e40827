import type { Client } from '../../client/client.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Container, Pod } from '../types.ts'
import type { PortMap } from './ports-annotation.ts'

export interface EnvironmentFacts {
  readonly client: Client
  readonly pod: Pod
  readonly container: Container
  readonly ports: PortMap
  readonly podIP: string
  readonly nodeName: string
  /** What every process gets from us: PATH, HOME and the like. */
  readonly inherited: Readonly<Record<string, string | undefined>>
}

/** A container's environment: what its spec says, with `PORT` for its first port. Throws when something it needs is not there. */
export async function containerEnvironment(facts: EnvironmentFacts): Promise<Record<string, string>> {
  const { container, ports, inherited } = facts
  const env: Record<string, string> = Object.fromEntries(
    Object.entries(inherited).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
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

/** `$(NAME)` becomes the variable's value, `$$(NAME)` stays `$(NAME)`, an unknown one stays as it is. */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)/g, (whole, name: string | undefined) =>
    name === undefined ? '$' : (env[name] ?? whole),
  )
}

type ValueFrom = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>

async function valueOf(
  facts: EnvironmentFacts,
  { fieldRef, configMapKeyRef, secretKeyRef }: ValueFrom,
): Promise<string | undefined> {
  if (fieldRef) return fieldOf(facts, fieldRef.fieldPath)
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
    'status.hostIP': podIP,
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? 'default',
  }
  return fields[path] ?? ''
}

async function read(
  { client, pod }: EnvironmentFacts,
  kind: 'ConfigMap' | 'Secret',
  { name, optional }: { readonly name: string; readonly optional?: boolean },
): Promise<Record<string, string>> {
  const type: ResourceType = { group: '', version: 'v1', kind, plural: `${kind.toLowerCase()}s`, namespaced: true }
  const object = await client
    .get<StoredObject>(type, { namespace: pod.metadata.namespace ?? '', name })
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
