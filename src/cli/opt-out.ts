import { cleanupOptOut, type CleanupOptOut } from '../apis/cleanup-opt-out.ts'
import type { Client } from '../client/client.ts'
import { apiVersionOf } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { readFlags, textFlag, type Command } from './command.ts'
import { connect } from './connect.ts'
import { findObject, type NamedObject } from './object-word.ts'

const { output: _, 'all-namespaces': __, ...flags } = readFlags

/** Spares something, for every system. */
export const optOut: Command = {
  name: 'opt-out',
  summary: 'Spare an object: no system deletes it until opt-in',
  usage: 'KIND/NAME [flags]',
  help: `
Examples:
  sojourn opt-out deployment/shop -n team --reason "demo on Friday"
  sojourn opt-out pvc/data -n team --until 2027-01-01T00:00:00Z`,
  flags: {
    ...flags,
    reason: { type: 'string', value: 'TEXT', help: 'Why, for those who find it later' },
    until: { type: 'string', value: 'TIME', help: 'When it ends by itself (RFC 3339; default: never)' },
  },
  words: { least: 1, most: 1, completes: ['objects'] },
  async run(call) {
    using connection = connect(call)
    const { client, namespace } = connection
    const found = await findObject(client, call.words[0] ?? '', namespace)
    const reason = textFlag(call.flags, 'reason')
    const expiresAt = textFlag(call.flags, 'until')
    await client.apply<CleanupOptOut>(
      cleanupOptOut.type,
      {
        apiVersion: cleanupOptOut.apiVersion,
        kind: cleanupOptOut.kind,
        metadata: { name: optOutName(found) },
        spec: { resource: resourceOf(found), ...(reason ? { reason } : {}), ...(expiresAt ? { expiresAt } : {}) },
      },
      { force: true },
    )
    call.io.out(`${call.words[0]} stays: no system deletes it${expiresAt ? ` until ${expiresAt}` : ''}\n`)
  },
}

/** Ends what opt-out began. */
export const optIn: Command = {
  name: 'opt-in',
  summary: 'End the opt-out of an object',
  usage: 'KIND/NAME [flags]',
  help: `
Examples:
  sojourn opt-in deployment/shop -n team`,
  flags,
  words: { least: 1, most: 1, completes: ['objects'] },
  async run(call) {
    using connection = connect(call)
    const { client, namespace } = connection
    const found = await findObject(client, call.words[0] ?? '', namespace)
    const revoked = await revoke(client, found)
    call.io.out(revoked ? `${call.words[0]} is subject to cleanup again\n` : `${call.words[0]} had no opt-out\n`)
  },
}

/** An opt-out that has ended protects nothing; the object stays as a trace until its end is long past. */
async function revoke(client: Client, found: NamedObject): Promise<boolean> {
  const body = { spec: { expiresAt: '1970-01-01T00:00:00Z' } }
  const changed = await client
    .patch(cleanupOptOut.type, { name: optOutName(found) }, { type: 'merge', body })
    .catch(ignoring('NotFound'))
  return changed !== undefined
}

function optOutName({ type, object }: NamedObject): string {
  return [type.plural, object.metadata.namespace, object.metadata.name]
    .filter(Boolean)
    .join('.')
    .toLowerCase()
    .slice(0, 250)
}

function resourceOf({ type, object }: NamedObject) {
  const { namespace, name } = object.metadata
  return { apiVersion: apiVersionOf(type), kind: type.kind, name, ...(namespace ? { namespace } : {}) }
}
