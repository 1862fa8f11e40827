import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { secrets } from '../../kube/core-types.ts'
import type { KubeObject } from '../../kube/object.ts'
import { isSecret } from '../../kube/redact.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { Seal } from '../../runtime/sharing/seal.ts'

/** The Secret whose entries are the keys: any name, 32 bytes or their base64. The last name in alphabetical order encrypts, all of them decrypt. */
export const recordKeysPlace = { namespace: sojournNamespace, name: 'sojourn-record-keys' }

/** The encrypted data of a Secret, and the name of the key. */
export interface SealedData {
  readonly key: string
  readonly data: string
}

/** Where writers of records get the keys; undefined where records keep no data of Secrets, which is the default. */
export type KeySource = (() => Promise<RecordKeys>) | undefined

/** Records must keep the data of Secrets, and cannot. Nothing may be deleted then. */
export class RecordKeyError extends Error {}

/** The keys by which records keep the data of Secrets (`--record-secrets`). */
export class RecordKeys {
  readonly #seals: ReadonlyMap<string, Seal>
  readonly #current: string

  /** Throws RecordKeyError if the Secret does not exist or has no usable key. */
  constructor(secret: KubeObject | undefined) {
    if (!secret) throw new RecordKeyError(`${where} does not exist: ${howTo}`)
    const entries = Object.entries((secret.data ?? {}) as Readonly<Record<string, string>>)
    const names = entries.map(([name]) => name).toSorted()
    const last = names.at(-1)
    if (last === undefined) throw new RecordKeyError(`${where} has no key: ${howTo}`)
    this.#current = last
    this.#seals = new Map(entries.map(([name, value]) => [name, new Seal(keyIn(name, value), maxDataBytes)]))
  }

  /** Reads them with the rights of a client. Throws RecordKeyError. */
  static async read(client: Client): Promise<RecordKeys> {
    return client.get<KubeObject>(secrets, recordKeysPlace).then(
      (secret) => new RecordKeys(secret),
      (error: unknown) => {
        if (isStatusError(error, 'NotFound')) return new RecordKeys(undefined)
        if (isStatusError(error, 'Forbidden')) throw new RecordKeyError(`${where} may not be read: ${error.message}`)
        throw error
      },
    )
  }

  /** The encrypted data of a Secret, bound to its name and uid; undefined for other objects and for what a controller issues anew. */
  seal(object: KubeObject): SealedData | undefined {
    if (!hasDataToSeal(object)) return undefined
    const key = this.#current
    const data = this.#seals.get(key)?.seal(purposeOf(object, object.metadata.uid ?? ''), object.data)
    return data === undefined ? undefined : { key, data }
  }

  /** The data; throws RecordKeyError where the key is gone, or the text was sealed for another object. */
  open({ key, data }: SealedData, { uid, manifest }: { readonly uid: string; readonly manifest: KubeObject }): unknown {
    const seal = this.#seals.get(key)
    if (!seal) throw new RecordKeyError(`${where} no longer has the key ${JSON.stringify(key.slice(0, 253))}`)
    // The data of a Secret must not become that of an object which more users may read.
    const found = isSecret(manifest) ? seal.open(purposeOf(manifest, uid), data) : undefined
    if (found === undefined) throw new RecordKeyError('the encrypted data is damaged, or belongs to another Secret')
    return found
  }
}

/** Whether an object is a Secret with data that a record can keep. Tokens of ServiceAccounts are issued anew after a restore. */
export function hasDataToSeal(object: KubeObject): boolean {
  return isSecret(object) && Boolean(object.data) && object.type !== 'kubernetes.io/service-account-token'
}

/** A text that is moved to the record of another object opens no more: a record in one namespace must not reveal a Secret of another. */
function purposeOf({ metadata }: KubeObject, uid: string): string {
  return JSON.stringify(['departure', metadata.namespace ?? '', metadata.name ?? '', uid])
}

function keyIn(name: string, value: string): Buffer {
  const bytes = Buffer.from(value, 'base64')
  const key = bytes.length === keyBytes ? bytes : Buffer.from(bytes.toString('utf8').trim(), 'base64')
  if (key.length !== keyBytes)
    throw new RecordKeyError(`entry ${JSON.stringify(name)} of ${where} is no key of ${keyBytes} bytes: ${howTo}`)
  return key
}

const keyBytes = 32
/** More than a Secret can hold. */
const maxDataBytes = 4 * 1024 * 1024
const where = `Secret ${recordKeysPlace.namespace}/${recordKeysPlace.name}`
const howTo =
  'create it with a key (openssl rand -base64 32), see docs/operations.md, or run Sojourn without --record-secrets'
