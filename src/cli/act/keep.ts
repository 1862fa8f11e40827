import { formatTime } from '../../kube/time.ts'
import { durationFlag, readFlags, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'

const { output: _, 'all-namespaces': __, namespace: ___, ...flags } = readFlags

/** Keeps an environment for longer. */
export const keep: Command = {
  name: 'keep',
  summary: 'Keep an environment for longer',
  usage: 'ENV [--for 3d] [flags]',
  help: `
ENV is the Namespace of the environment. Without --for it is kept for the time that its class sets in delete.extendBy, from the date of its
deletion, and never beyond delete.maxAge.

Examples:
  sojourn keep shop-pr-17
  sojourn keep shop-pr-17 --for 7d`,
  flags: {
    ...flags,
    for: { type: 'string', value: 'DURATION', help: 'How much longer (default: extendBy of its class)' },
  },
  words: { min: 1, max: 1 },
  async run(call) {
    const forMs = durationFlag(call.flags, 'for')
    using connection = connect(call)
    const { findEnvironment, keepEnvironment } = await import('../../app/operations/environments.ts')
    const [name = ''] = call.words
    const self = await findEnvironment(connection.client, name)
    const { until, was, atMost } = await keepEnvironment(connection.client, self, { forMs, now: call.io.now() })
    const limit = atMost === undefined ? '' : ` Class ${self.spec.className} allows at most ${formatTime(atMost)}.`
    call.io.out(
      `${name} stays until ${formatTime(until)}${was === undefined ? '' : ` (was ${formatTime(was)})`}.${limit}\n`,
    )
  },
}
