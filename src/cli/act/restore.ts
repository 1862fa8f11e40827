import { restoreDeparture } from '../../app/operations/restore.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, refOf } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { readFlags, textFlag, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { progress } from '../terminal/progress.ts'

const { output: _, ...readOnly } = readFlags

/** Restores deleted objects from a departure record. */
export const restore: Command = {
  name: 'restore',
  summary: 'Restore a deleted object, with everything deleted with it',
  usage: 'NAME [flags]',
  help: `
NAME is that of a departure record: see "sojourn departures". The record of a Cleaner brings back its whole decision: the Cleaner, suspended, its targets,
the objects of its Helm releases and their Helm records. A restore is checked by a dry run first: if it cannot be complete,
nothing is changed. If the object was restored before and still exists, the command names it and fails.

Examples:
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
    const [name = ''] = call.words
    const namespace = await namespaceOf(client, name, textFlag(call.flags, 'namespace'))
    using bar = progress(call.io)
    const into = textFlag(call.flags, 'into-context')
    using other = into === undefined ? undefined : connect({ ...call, flags: { ...call.flags, context: into } })
    const options = {
      now: call.io.now(),
      into: other?.client,
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
