import { createServer, request as http } from 'node:http'
import { request as https } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '../../../src/client/client.ts'
import { departureRecord, type By } from '../../../src/departures/records/record.ts'
import { departure } from '../../../src/apis/departure.ts'
import { refOf, type KubeObject, type StoredObject, placeOf } from '../../../src/kube/object.ts'
import { ignoring } from '../../../src/kube/status-error.ts'
import { createKnown } from '../../kubernetes/kubectl.ts'

/** What a role is put through, so that it needs everything it was granted. */
export interface Case {
  /** What an administrator lets it do to other people's objects. */
  readonly targets?: readonly Readonly<Record<string, unknown>>[]
  readonly stages: readonly Stage[]
}

/** One run of the program. */
export interface Stage {
  readonly flags?: Readonly<Record<string, string | boolean>>
  readonly env?: Readonly<Record<string, string>>
  /** What is there before it starts. */
  readonly given?: (world: World) => Promise<void>
  /** What happens while it runs. */
  readonly act?: (world: World, running: Running) => Promise<void>
  /** Requests that this run must come to, as patterns of `group/resource verb`; all of the last run's need not be named. */
  readonly until?: readonly RegExp[]
}

/** The program, and what it has had no use for so far. */
export interface Running {
  readonly url: string
  readonly proxy?: string
  readonly unused: () => readonly string[]
}

/** The cluster as its administrator sees it. */
export class World {
  readonly client: Client
  readonly #token: string

  constructor(client: Client, token: string) {
    this.client = client
    this.#token = token
  }

  async create(...manifests: readonly KubeObject[]): Promise<readonly StoredObject[]> {
    const made: StoredObject[] = []
    for (const manifest of manifests) {
      const type = await this.#typeOf(manifest)
      const { status, ...rest } = manifest
      const created = await createKnown(() => this.client.create<StoredObject>(type, rest as KubeObject))
      made.push(
        status === undefined
          ? created
          : await this.client.update<StoredObject>(type, { ...created, status }, { subresource: 'status' }),
      )
    }
    return made
  }

  async change(manifest: KubeObject, body: Readonly<Record<string, unknown>>): Promise<void> {
    const { name, namespace } = refOf(manifest)
    await this.client.patch(await this.#typeOf(manifest), placeOf({ name, namespace }), { type: 'merge', body })
  }

  async remove(manifest: KubeObject): Promise<void> {
    const { name, namespace } = refOf(manifest)
    await this.client
      .deleteObject(await this.#typeOf(manifest), placeOf({ name, namespace }), {})
      .catch(ignoring('NotFound'))
  }

  async find(manifest: KubeObject): Promise<StoredObject | undefined> {
    const { name, namespace } = refOf(manifest)
    const place = placeOf({ name, namespace })
    return this.client.get<StoredObject>(await this.#typeOf(manifest), place).catch(ignoring('NotFound'))
  }

  /** A deletion that was begun for an object some time ago, and given up. */
  async abandon(object: KubeObject, by: By): Promise<void> {
    const record = departureRecord({ cluster: '', object, because: 'test', by, now: Date.now() })
    const { name = '', namespace = '' } = record.metadata
    await this.client.create(departure.type, record)
    await this.client.patch(
      departure.type,
      { namespace, name },
      { type: 'merge', body: { status: { phase: 'Abandoned' } } },
      { subresource: 'status' },
    )
  }

  /** Calls one of our own servers as the administrator; whether it said yes. */
  ask(
    url: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<boolean> {
    const request = url.startsWith('https:') ? https : http
    const authorization = `Bearer ${this.#token}`
    return new Promise((resolve) => {
      request(
        new URL(path, url),
        { method, rejectUnauthorized: false, headers: { authorization, ...headers } },
        (answer) => {
          answer.resume()
          resolve((answer.statusCode ?? 500) < 300)
        },
      )
        .on('error', () => resolve(false))
        .end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** Where a channel can post notices, and what has come. It does not keep the process alive. */
  async inbox(): Promise<{ readonly url: string; readonly notices: readonly string[] }> {
    const notices: string[] = []
    const server = createServer((request, response) => {
      let text = ''
      request.setEncoding('utf8').on('data', (part: string) => (text += part))
      request.on('end', () => (notices.push(text), response.end()))
    }).unref()
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, notices }
  }

  /** Has the cluster serve the kinds of other tools, each without a schema, and waits until it does. */
  async serve(...kinds: readonly { readonly apiVersion: string; readonly kind: string }[]): Promise<void> {
    for (const each of kinds) {
      await this.create(definition(each))
      await this.until(async () => (await this.#typeOf({ ...each, metadata: {} })) !== undefined)
    }
  }

  /** Waits for something to become true; what does not is for the comparison to tell. */
  async until(isTrue: () => Promise<boolean>): Promise<void> {
    for (const end = Date.now() + 120_000; Date.now() < end; await pause(100))
      if (await isTrue().catch(() => false)) return
  }

  async #typeOf(manifest: KubeObject) {
    this.client.discovery.forget()
    const type = await this.client.discovery.typeOf(manifest)
    if (!type) throw new Error(`the cluster does not serve ${manifest.kind}`)
    return type
  }
}

function definition({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): KubeObject {
  const [group = '', name = ''] = apiVersion.split('/')
  const plural = `${kind.toLowerCase()}s`
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [{ name, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  }
}

/** The cluster refuses the deletion of ConfigMaps with this name: it is tried again and again, and each time the same Event happens. */
export function refusalOf(configMap: string): readonly KubeObject[] {
  const group = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: `access-${configMap}` } }
  return [
    {
      ...group,
      kind: 'ValidatingAdmissionPolicy',
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] }],
        },
        validations: [{ expression: `oldObject.metadata.name != '${configMap}'` }],
      },
    },
    {
      ...group,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: group.metadata.name, validationActions: ['Deny'] },
    },
  ]
}

/** A NotificationChannel of this name that signs what it posts to an inbox, and the Secret with its key. */
export async function signedChannel(world: World, name: string, inbox?: { readonly url: string }) {
  const { url } = inbox ?? (await world.inbox())
  const key = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'sojourn-system' } }
  const webhook = { url, format: 'json', secretRef: { name } }
  return [
    { ...key, stringData: { key: 'a key to sign with' } },
    {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'NotificationChannel',
      metadata: { name },
      spec: { type: 'webhook', webhook },
    },
  ] satisfies readonly KubeObject[]
}

export function namespace(name: string, metadata: Readonly<Record<string, unknown>> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } }
}

export function configMap(home: string, name: string, metadata: Readonly<Record<string, unknown>> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: home, ...metadata } }
}
