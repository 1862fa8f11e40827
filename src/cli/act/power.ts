import { placeOf } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import { durationFlag, readFlags, UsageError, type Call, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { findObject } from '../terminal/object-word.ts'

const { output: _, 'all-namespaces': __, ...flags } = readFlags

const common = {
  usage: 'KIND/NAME|NAMESPACE [flags]',
  flags: {
    ...flags,
    for: { type: 'string', value: 'DURATION', help: 'How long, such as 2h or 3d (default: 8h)' },
  },
  words: { min: 1, max: 1, completes: ['objects'] },
} as const

/** Wakes a workload, or everything in a namespace, and keeps it awake for a while. */
export const wake: Command = {
  ...common,
  name: 'wake',
  summary: 'Wake a workload or a namespace, and keep it awake for a while',
  help: `
Examples:
  sojourn wake shop-pr-42
  sojourn wake deployment/web -n shop --for 2h`,
  run: (call) => setPower(call, 'Awake'),
}

/** Puts a workload, or everything in a namespace, to sleep for a while; a request still wakes it. */
export const sleep: Command = {
  ...common,
  name: 'sleep',
  summary: 'Put a workload or a namespace to sleep; a request through the proxy still wakes it',
  help: `
Examples:
  sojourn sleep shop-pr-42
  sojourn sleep deployment/web -n shop --for 3d`,
  run: (call) => setPower(call, 'Asleep'),
}

async function setPower(call: Call, power: 'Awake' | 'Asleep'): Promise<void> {
  const [word = ''] = call.words
  const forMs = durationFlag(call.flags, 'for') ?? 8 * 3_600_000
  using connection = connect(call)
  const { client, namespace } = connection
  const { ownEnvironment, setPower: setEnvironment } = await import('../../app/operations/environments.ts')
  const now = call.io.now()
  const isName = !word.includes('/')
  const self = isName ? await ownEnvironment(client, word) : undefined
  // The environment of a namespace reports what was set by hand; without one the namespace keeps it itself.
  if (self) await setEnvironment(client, self, { power, until: now + forMs, now })
  else {
    const { type, object } = await findObject(client, isName ? `namespace/${word}` : word, namespace)
    const { byHandPatch, hasPower, sleeplessHome } = await import('../../app/operations/power.ts')
    if (!hasPower(type))
      throw new UsageError(`${word}: the kind ${type.kind} cannot sleep; name a workload or a namespace`)
    const sleepless = sleeplessHome(type, object.metadata)
    if (sleepless !== undefined) throw new UsageError(`${word}: nothing in namespace ${sleepless} ever sleeps`)
    const body = byHandPatch(power, now, now + forMs)
    await client.merge(type, placeOf(object.metadata), body)
  }
  const what = power === 'Awake' ? 'is kept awake' : 'is put to sleep'
  call.io.out(`${word} ${what} until ${formatTime(now + forMs)}\n`)
}
