import { recordOf, restoreDeparture } from '../../app/operations/restore.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, refOf } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { readFlags, textFlag, type Command } from '../terminal/command.ts'
import { connect, type Connection } from '../terminal/connect.ts'
import { deletedNamed } from '../terminal/object-word.ts'
import { progress } from '../terminal/progress.ts'

const { output: _, ...readOnly } = readFlags

/** Restores deleted objects from a departure record. */
export const restore: Command = {
  name: 'restore',
  summary: 'Restore a deleted object, with everything deleted with it',
  usage: 'KIND/NAME | RECORD [flags]',
  help: `
KIND/NAME is the deleted object, RECORD its departure record: see "sojourn departures". The newest record counts. The record of a Cleaner brings back
its whole decision: the Cleaner, suspended, its targets, the objects of its Helm releases and their Helm records. Where several Cleaners that were due
together share a record, RECORD restores all of them, KIND/NAME the decision about one. A restore is checked by a dry run first: if it cannot be complete,
nothing is changed. If the object was restored before and still exists, the command names it and fails.

Examples:
  sojourn restore configmap/settings -n team
  sojourn restore configmap-settings-3f2a9c81d04b -n team
  sojourn restore configmap-settings-91b07c55aa1e --into-context leaf   an object of another cluster`,
  flags: {
    ...readOnly,
    'dry-run': { type: 'boolean', help: 'Show what would be restored; change nothing' },
    'into-context': {
      type: 'string',
      value: 'NAME',
      help: 'The context of the cluster to restore into, if the record is in another one',
      completes: 'contexts',
    },
  },
  words: { min: 1, max: 1, completes: ['departures'] },
  async run(call) {
    using connection = connect(call)
    const { client } = connection
    const { namespace, name, decidedBy } = await recordFor(
      connection,
      call.words[0] ?? '',
      textFlag(call.flags, 'namespace'),
    )
    using bar = progress(call.io)
    const into = textFlag(call.flags, 'into-context')
    using other = into === undefined ? undefined : connect({ ...call, flags: { ...call.flags, context: into } })
    const options = {
      now: call.io.now(),
      into: other?.client,
      decidedBy,
      dryRun: Boolean(call.flags['dry-run']),
      ...(call.io.isErrTerminal ? { onProgress: bar.show } : {}),
    }
    const { objects, already, notes } = await restoreDeparture(client, { namespace, name }, options)
    bar.end()
    for (const object of objects)
      call.io.out(`${call.flags['dry-run'] ? 'would restore' : 'restored'} ${describeRef(refOf(object))}\n`)
    for (const object of already)
      call.io.out(`${describeRef(refOf(object))} was restored before (uid ${object.metadata.uid})\n`)
    for (const note of notes) call.io.err(`note: ${note}\n`)
  },
}

/** The record that is asked for, by its own name or that of the deleted object. */
async function recordFor(
  { client, namespace }: Pick<Connection, 'client' | 'namespace'>,
  word: string,
  given?: string,
) {
  if (!word.includes('/'))
    return { namespace: await namespaceOf(client, word, given), name: word, decidedBy: undefined }
  return recordOf(client, await deletedNamed(client, word, namespace))
}

/** Finds the namespace of a record by its name, which is nearly unique. */
async function namespaceOf(client: Client, name: string, given?: string): Promise<string> {
  const where = given === undefined ? {} : { namespace: given }
  const { items } = await client.list<Departure>(departure.type, { ...where, fieldSelector: `metadata.name=${name}` })
  const [found, ...others] = items
  const inIt = given === undefined ? '' : ` in namespace ${given}`
  if (!found)
    throw new StatusError('NotFound', `there is no departure "${name}"${inIt}; run "sojourn departures -A" for all`)
  if (others.length > 0) {
    const places = items.map(({ metadata }) => metadata.namespace).join(', ')
    throw new StatusError(
      'Conflict',
      `departures named "${name}" are in several namespaces, choose one with -n: ${places}`,
    )
  }
  return found.metadata.namespace ?? ''
}
