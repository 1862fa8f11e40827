import { drain as drainCluster, type Drained, type Held } from '../app/drain.ts'
import { inUseLabel } from '../apis/bond.ts'
import { sojournNamespace } from '../apis/group.ts'
import { describeRef } from '../kube/object.ts'
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

Stop Sojourn first: while it runs it would take hold of everything again, and nothing is changed.

Examples:
  kubectl -n ${sojournNamespace} scale deployment --all --replicas=0
  sojourn drain --dry-run
  sojourn drain --yes`,
  flags: {
    output,
    kubeconfig,
    context,
    'dry-run': { type: 'boolean', help: 'Only show what is held' },
    yes: { type: 'boolean', help: 'Let go of it' },
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

function show(call: Call, { held, problems }: Drained): void {
  const items = held.map(({ type, object, finalizers, isMarked, goes }) => ({
    kind: type.kind,
    name: object.metadata.name,
    ...(object.metadata.namespace ? { namespace: object.metadata.namespace } : {}),
    heldBy: [...finalizers, ...(isMarked ? [inUseLabel] : [])],
    goes,
  }))
  print(call, { kind: 'HeldList', items, problems }, () =>
    held.length === 0 ? 'Sojourn holds nothing.' : heldTable(held, Boolean(call.flags.yes)),
  )
}

function heldTable(held: readonly Held[], isDone: boolean): string {
  const rows = held.map(({ type, object, finalizers, isMarked, goes }) => [
    describeRef({ apiVersion: '', kind: type.kind, ...object.metadata }),
    [...finalizers, ...(isMarked ? [inUseLabel] : [])].join(', '),
    goes ? (isDone ? 'gone' : 'goes at once') : isDone ? 'let go' : 'stays',
  ])
  const going = held.filter(({ goes }) => goes).length
  const doing = isDone ? 'were held' : 'are held'
  const which = going === 0 ? 'None of them was told to leave' : `${going} of them had been told to leave`
  return [table(['OBJECT', 'HELD BY', 'THEN'], rows), '', `${held.length} ${doing}. ${which}.`].join('\n')
}

/** Says what is left to do; 0 only when nothing is held any more, or nobody asked for more than a look. */
function outcome({ flags, io }: Call, { held, running, problems }: Drained): number {
  for (const problem of problems) io.err(`sojourn drain: ${problem}\n`)
  if (running.length > 0) {
    const stop = `kubectl -n ${sojournNamespace} scale deployment --all --replicas=0`
    io.err(`sojourn drain: it still runs there: ${running.join(', ')}. Stop it first: ${stop}\n`)
  }
  if (flags['dry-run']) return 0
  if (!flags.yes && held.length > 0) {
    io.err('sojourn drain: nothing was changed: add --yes to let go of them\n')
    return 2
  }
  return problems.length > 0 || running.length > 0 ? 1 : 0
}
