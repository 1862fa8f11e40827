import { readFlags, UsageError, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'

const { output: _, 'all-namespaces': __, namespace: ___, ...flags } = readFlags

/** Switches the janitor off and on, and closes circuits. */
export const janitor: Command = {
  name: 'janitor',
  summary: 'Pause or resume all cleanup policies, or close the circuit of one',
  usage: 'pause|resume|close-circuit [POLICY] [flags]',
  help: `
A paused janitor marks, notifies and deletes nothing. A policy's circuit opens when its inventory shrinks by more than half: close it after you
have looked at why.

Examples:
  sojourn janitor pause
  sojourn janitor close-circuit unused-configmaps`,
  flags,
  words: { min: 1, max: 2, completes: [['pause', 'resume', 'close-circuit']] },
  async run(call) {
    const [verb = '', policy] = call.words
    const needsPolicy = verb === 'close-circuit'
    if (!['pause', 'resume', 'close-circuit'].includes(verb) || needsPolicy !== (policy !== undefined))
      throw new UsageError(`say pause, resume, or close-circuit POLICY; not "${call.words.join(' ')}"`)
    using connection = connect(call)
    const { closeCircuit, pauseJanitor } = await import('../../app/operations/janitor-switches.ts')
    if (needsPolicy) await closeCircuit(connection.client, policy ?? '', call.io.now())
    else await pauseJanitor(connection.client, verb === 'pause')
    call.io.out(needsPolicy ? `the circuit of ${policy} is closed\n` : `the janitor is ${verb}d\n`)
  },
}
