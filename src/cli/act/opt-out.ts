import { formatTime, parseLongDuration, parseTime } from '../../kube/time.ts'
import { readFlags, textFlag, UsageError, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { findObjectOrCloud } from '../terminal/object-word.ts'

const { output: _, 'all-namespaces': __, ...flags } = readFlags

/** Keeps an object from being deleted by any system. */
export const optOut: Command = {
  name: 'opt-out',
  summary: 'Keep an object: no system deletes it until opt-in',
  usage: 'KIND/NAME | KIND NAME [flags]',
  help: `
Examples:
  sojourn opt-out deployment/shop -n team --reason "demo on Friday"
  sojourn opt-out deployment/shop -n team --until 14d
  sojourn opt-out pvc/data -n team --until 2027-01-01T00:00:00Z
  sojourn opt-out volume/vol-0123   # a cloud resource that a policy has marked`,
  flags: {
    ...flags,
    reason: { type: 'string', value: 'TEXT', help: 'The reason, recorded with the opt-out' },
    until: {
      type: 'string',
      value: 'WHEN',
      help: 'When it expires: a time, or a duration from now (default: never)',
    },
  },
  words: { min: 1, max: 2, completes: ['objects'] },
  async run(call) {
    const word = call.words.join('/')
    const written = textFlag(call.flags, 'until')
    const until = written === undefined ? undefined : timeOf(written, call.io.now())
    using connection = connect(call)
    const { client, namespace } = connection
    const found = await findObjectOrCloud(client, word, namespace)
    const { optOutCloud, optOutObject } = await import('../../app/operations/opt-outs.ts')
    const terms = { reason: textFlag(call.flags, 'reason'), until }
    await ('cloud' in found ? optOutCloud(client, found.cloud, terms) : optOutObject(client, found, terms))
    call.io.out(
      `${word} is opted out: no system deletes it${until === undefined ? '' : ` until ${formatTime(until)}`}\n`,
    )
  },
}

function timeOf(written: string, now: number): number {
  const afterMs = parseLongDuration(written)
  const at = afterMs === undefined ? parseTime(written) : now + afterMs
  if (at === undefined || at <= now)
    throw new UsageError(`--until is "${written}": it must be in the future, such as 14d, 36h or 2027-01-01T09:00:00Z`)
  return at
}

/** Ends the opt-outs of an object. */
export const optIn: Command = {
  name: 'opt-in',
  summary: 'End the opt-out of an object',
  usage: 'KIND/NAME | KIND NAME [flags]',
  help: `
Ends every opt-out that names the object, whether made by this command, the dashboard or the link in a notice.

Examples:
  sojourn opt-in deployment/shop -n team`,
  flags,
  words: { min: 1, max: 2, completes: ['objects'] },
  async run(call) {
    const word = call.words.join('/')
    using connection = connect(call)
    const { client, namespace } = connection
    const found = await findObjectOrCloud(client, word, namespace)
    const { optInCloud, optInObject } = await import('../../app/operations/opt-outs.ts')
    const now = call.io.now()
    const { ended, left } = await ('cloud' in found
      ? optInCloud(client, found.cloud, now)
      : optInObject(client, found, now))
    if (left.length > 0)
      call.io.err(`sojourn opt-in: ${word} is still opted out by its labels: CleanupOptOut ${left.join(', ')}\n`)
    if (ended.length === 0) return call.io.out(`${word} had no opt-out${left.length > 0 ? ' of its own' : ''}\n`)
    call.io.out(left.length > 0 ? `the opt-out of ${word} itself has ended\n` : `${word} may be deleted again\n`)
  },
}
