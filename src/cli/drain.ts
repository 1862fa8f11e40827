import { drain as drainCluster, type Drained } from '../app/drain.ts'
import { inUseLabel } from '../apis/bond.ts'
import { sojournNamespace } from '../apis/group.ts'
import { describeRef, type StoredObject } from '../kube/object.ts'
import { readFlags, UsageError, type Call, type Command } from './command.ts'
import { connect } from './connect.ts'
import { print, table } from './output.ts'
import { progress } from './progress.ts'

const { output, kubeconfig, context } = readFlags

/** Before Sojourn is taken away: nothing may wait for it. */
export const drain: Command = {
  name: 'drain',
  summary: 'Let go of everything Sojourn holds in a cluster, before it is uninstalled',
  usage: '[--dry-run | --yes] [flags]',
  help: `
Takes our finalizers and in-use marks off every object, in all namespaces. An object that was told to leave and waited only
for us goes at once; what a Bond would have taken along with it stays. Bonds, Cleaners, policies and records stay as they are.

Services that the activator has taken over are given back: their selectors return to their specs, and their callers go straight
to their pods. What sleeps then stays asleep until it is scaled up.

Stop Sojourn first: while it runs it would take hold of everything again, and nothing is changed.

Examples:
  kubectl -n ${sojournNamespace} scale deployment --all --replicas=0
  sojourn drain --dry-run
  sojourn drain --yes`,
  flags: {
    output,
    kubeconfig,
    context,
    'dry-run': { type: 'boolean', help: 'Only show what is held and taken over' },
    yes: { type: 'boolean', help: 'Let go of it, and give it back' },
  },
  async run(call) {
    const { flags, io } = call
    if (flags['dry-run'] && flags.yes) throw new UsageError('--dry-run and --yes are one too many')
    using connection = connect(call)
    using bar = progress(io)
    const dryRun = !flags.yes
    const drained = await drainCluster(connection.client, { dryRun, onProgress: bar.show, signal: io.signal })
    bar.end()
    show(call, drained)
    return outcome(call, drained)
  },
}

function show(call: Call, { held, taken, problems }: Drained): void {
  const items = held.map(({ type, object, finalizers, isMarked, goes }) => ({
    ...identify(type.kind, object),
    heldBy: [...finalizers, ...(isMarked ? [inUseLabel] : [])],
    goes,
  }))
  const takenOver = taken.map((service) => identify('Service', service))
  print(call, { kind: 'HeldList', items, takenOver, problems }, () =>
    held.length + taken.length === 0 ? 'Sojourn holds nothing.' : heldTable({ held, taken }, Boolean(call.flags.yes)),
  )
}

function identify(kind: string, { metadata: { name, namespace } }: StoredObject) {
  return { kind, name, ...(namespace ? { namespace } : {}) }
}

function heldTable({ held, taken }: Pick<Drained, 'held' | 'taken'>, isDone: boolean): string {
  const describe = (kind: string, { metadata }: StoredObject) => describeRef({ apiVersion: '', kind, ...metadata })
  const rows = [
    ...held.map(({ type, object, finalizers, isMarked, goes }) => [
      describe(type.kind, object),
      [...finalizers, ...(isMarked ? [inUseLabel] : [])].join(', '),
      goes ? (isDone ? 'gone' : 'goes at once') : isDone ? 'let go' : 'stays',
    ]),
    ...taken.map((service) => [describe('Service', service), 'takeover', isDone ? 'given back' : 'is given back']),
  ]
  const going = held.filter(({ goes }) => goes).length
  const doing = isDone ? 'were' : 'are'
  const which = going === 0 ? 'None of them was told to leave' : `${going} of them had been told to leave`
  const sums = [
    ...(held.length > 0 ? [`${held.length} ${doing} held. ${which}.`] : []),
    ...(taken.length > 0 ? [`Services taken over: ${taken.length}.`] : []),
  ]
  return [table(['OBJECT', 'HELD BY', 'THEN'], rows), '', ...sums].join('\n')
}

/** Says what is left to do; 0 only when nothing is held any more, or nobody asked for more than a look. */
function outcome({ flags, io }: Call, { held, taken, running, problems }: Drained): number {
  for (const problem of problems) io.err(`sojourn drain: ${problem}\n`)
  if (running.length > 0) {
    const stop = `kubectl -n ${sojournNamespace} scale deployment --all --replicas=0`
    io.err(`sojourn drain: it still runs there: ${running.join(', ')}. Stop it first: ${stop}\n`)
  }
  if (flags['dry-run']) return 0
  if (!flags.yes && held.length + taken.length > 0) {
    io.err('sojourn drain: nothing was changed: add --yes to let go of them\n')
    return 2
  }
  return problems.length > 0 || running.length > 0 ? 1 : 0
}
