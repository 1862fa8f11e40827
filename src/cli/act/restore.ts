import { restoreDeparture } from '../../app/operations/restore.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, refOf } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { readFlags, textFlag, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { progress } from '../terminal/progress.ts'

const { output: _, ...readOnly } = readFlags

/** Brings back something that left. */
export const restore: Command = {
  name: 'restore',
  summary: 'Bring back what left, with everything that left with it',
  usage: 'NAME [flags]',
  help: `
NAME is a record's, as "sojourn departures" shows it. Everything is tried first: a restore that cannot be whole changes nothing.
What was restored before and is still there is not restored again: the command says as what it is back, and fails.

Examples:
  sojourn restore configmap-settings-3f2a9c81d04b -n team
  sojourn restore configmap-settings-91b07c55aa1e --into-context leaf   what left another cluster`,
  flags: {
    ...readOnly,
    'into-context': {
      type: 'string',
      value: 'NAME',
      help: 'The context of the cluster that it left, if that is not the one with its record',
      completes: 'contexts',
    },
  },
  words: { least: 1, most: 1, completes: ['departures'] },
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
      ...(call.io.isErrTerminal ? { onProgress: bar.show } : {}),
    }
    const { objects, already, notes } = await restoreDeparture(client, { namespace, name }, options)
    bar.end()
    for (const object of objects) call.io.out(`restored ${describeRef(refOf(object))}\n`)
    for (const object of already)
      call.io.out(`${describeRef(refOf(object))} was back already (uid ${object.metadata.uid})\n`)
    for (const note of notes) call.io.err(`note: ${note}\n`)
  },
}

/** Record names are unique enough that nobody should have to know where one is kept. */
async function namespaceOf(client: Client, name: string, given?: string): Promise<string> {
  const where = given === undefined ? {} : { namespace: given }
  const { items } = await client.list<Departure>(departure.type, { ...where, fieldSelector: `metadata.name=${name}` })
  const [found, ...others] = items
  const inIt = given === undefined ? '' : ` in namespace ${given}`
  if (!found)
    throw new StatusError('NotFound', `there is no departure "${name}"${inIt}; "sojourn departures -A" lists them`)
  if (others.length > 0) {
    const places = items.map(({ metadata }) => metadata.namespace).join(', ')
    throw new StatusError(
      'Conflict',
      `there are departures "${name}" in several namespaces, say by -n which: ${places}`,
    )
  }
  return found.metadata.namespace ?? ''
}
