import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { builtinKinds } from '../../src/apiserver/schema/types/builtin-kinds.ts'
import { parseApiVersion, type KubeObject } from '../../src/kube/object.ts'
import { patchContentType, type PatchType } from '../../src/kube/patches/patch.ts'

export interface Answer {
  readonly code: number
  /** The object, or the Status that says why there is none. */
  readonly body: KubeObject & { readonly message?: string; readonly details?: { readonly causes?: readonly object[] } }
}

/** Puts requests to one API server. */
export class Asker {
  readonly #server: { readonly url: string; readonly token: string; readonly ca: string }

  constructor(server: { readonly url: string; readonly token: string; readonly ca: string }) {
    this.#server = server
  }

  create(object: KubeObject, query = 'dryRun=All'): Promise<Answer> {
    return this.ask('POST', `${collectionOf(object)}?${query}`, JSON.stringify(object))
  }

  patch(path: string, type: PatchType, body: unknown): Promise<Answer> {
    return this.ask('PATCH', path, JSON.stringify(body), patchContentType[type])
  }

  /** Deletes an object, and removes its finalizers. */
  async remove(path: string): Promise<void> {
    await this.patch(path, 'merge', { metadata: { finalizers: null } })
    await this.ask('DELETE', `${path}?gracePeriodSeconds=0`)
  }

  /** Makes a CRD and waits until its kind is served. */
  async define(plural: string, kind: string, schema: unknown): Promise<void> {
    await this.create(definition({ plural, kind, schema, subresources: { status: {} } }), '')
    const path = `/apis/ex.io/v1/namespaces/default/${plural}`
    while ((await this.ask('GET', path)).code !== 200) await sleep(100)
    // The kind is served a moment before its schema is known to server-side apply.
    await sleep(2000)
  }

  ask(method: string, path: string, body?: string, type = 'application/json'): Promise<Answer> {
    const { url, token, ca } = this.#server
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': type }
    return new Promise((resolve, reject) => {
      const asked = request(new URL(path, url), { method, ca, headers }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () =>
          resolve({ code: response.statusCode ?? 0, body: parse(Buffer.concat(parts).toString()) }),
        )
      })
      asked.on('error', reject)
      asked.end(body)
    })
  }
}

/** A CRD with one version. */
export function definition(of: { plural: string; kind: string; schema: unknown; subresources?: unknown }): KubeObject {
  const { plural, kind, schema, subresources = {} } = of
  const version = { name: 'v1', served: true, storage: true, subresources, schema: { openAPIV3Schema: schema } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.ex.io` },
    spec: { group: 'ex.io', scope: 'Namespaced', names: { plural, kind }, versions: [version] },
  }
}

/** The path objects of a kind are created at. */
export function collectionOf({ apiVersion, kind, metadata }: KubeObject): string {
  const { group, version } = parseApiVersion(apiVersion)
  const known = builtinKinds().find((each) => each.group === group && each.version === version && each.kind === kind)
  const plural = known?.plural ?? `${kind.toLowerCase()}s`
  const namespace = known?.namespaced === false ? '' : `/namespaces/${metadata.namespace ?? 'default'}`
  return `${group ? `/apis/${group}` : '/api'}/${version}${namespace}/${plural}`
}

function parse(text: string): Answer['body'] {
  try {
    return JSON.parse(text) as Answer['body']
  } catch {
    return { apiVersion: '', kind: '', metadata: {}, message: text }
  }
}
