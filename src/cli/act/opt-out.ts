import { formatTime, parseLongDuration, parseTime } from '../../kube/time.ts'
import { readFlags, textFlag, UsageError, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { findObject } from '../terminal/object-word.ts'

const { output: _, 'all-namespaces': __, ...flags } = readFlags

/** Spares something, for every system. */
export const optOut: Command = {
  name: 'opt-out',
  summary: 'Spare an object: no system deletes it until opt-in',
  usage: 'KIND/NAME [flags]',
  help: `
Examples:
  sojourn opt-out deployment/shop -n team --reason "demo on Friday"
  sojourn opt-out deployment/shop -n team --until 14d
  sojourn opt-out pvc/data -n team --until 2027-01-01T00:00:00Z`,
  flags: {
    ...flags,
    reason: { type: 'string', value: 'TEXT', help: 'Why, for those who find it later' },
    until: {
      type: 'string',
      value: 'WHEN',
      help: 'When it ends by itself: a time, or how long from now (default: never)',
    },
  },
  words: { least: 1, most: 1, completes: ['objects'] },
  async run(call) {
    const [word = ''] = call.words
    const written = textFlag(call.flags, 'until')
    const until = written === undefined ? undefined : timeOf(written, call.io.now())
    using connection = connect(call)
    const { client, namespace } = connection
    const found = await findObject(client, word, namespace)
    const { spare } = await import('../../app/operations/opt-outs.ts')
    await spare(client, found, { reason: textFlag(call.flags, 'reason'), until })
    call.io.out(`${word} stays: no system deletes it${until === undefined ? '' : ` until ${formatTime(until)}`}\n`)
  },
}

function timeOf(written: string, now: number): number {
  const afterMs = parseLongDuration(written)
  const at = afterMs === undefined ? parseTime(written) : now + afterMs
  if (at === undefined || at <= now)
    throw new UsageError(`--until is "${written}": say a time to come, such as 14d, 36h or 2027-01-01T09:00:00Z`)
  return at
}

/** Ends what opt-out began. */
export const optIn: Command = {
  name: 'opt-in',
  summary: 'End the opt-out of an object',
  usage: 'KIND/NAME [flags]',
  help: `
Ends every opt-out that names the object, whoever made it: this program, the dashboard, the link of a notice.

Examples:
  sojourn opt-in deployment/shop -n team`,
  flags,
  words: { least: 1, most: 1, completes: ['objects'] },
  async run(call) {
    const [word = ''] = call.words
    using connection = connect(call)
    const { client, namespace } = connection
    const found = await findObject(client, word, namespace)
    const { unspare } = await import('../../app/operations/opt-outs.ts')
    const { ended, left } = await unspare(client, found, call.io.now())
    if (left.length > 0)
      call.io.err(`sojourn opt-in: it is still spared, by its labels: CleanupOptOut ${left.join(', ')}\n`)
    if (ended.length === 0) return call.io.out(`${word} had no opt-out${left.length > 0 ? ' of its own' : ''}\n`)
    call.io.out(
      left.length > 0 ? `${word} has no opt-out of its own any more\n` : `${word} is subject to cleanup again\n`,
    )
  },
}
