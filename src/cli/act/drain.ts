import { drain as drainCluster, type Drained, type DrainItem } from '../../app/operations/drain.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { describeRef, refOf, placeOf } from '../../kube/object.ts'
import { readFlags, textFlag, UsageError, type Call, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { print, table } from '../terminal/output.ts'
import { progress } from '../terminal/progress.ts'

const { namespace, output, kubeconfig, context } = readFlags

/** Removes Sojourn's finalizers, marks and takeovers before it is uninstalled. */
export const drain: Command = {
  name: 'drain',
  summary: 'Remove Sojourn’s finalizers, marks and takeovers from a cluster before uninstalling',
  usage: '[--dry-run | --yes] [flags]',
  help: `
Removes Sojourn's finalizers and in-use marks from every object, in all namespaces. An object whose deletion waits only for these
finalizers is deleted at once; dependents that a Bond would have deleted with it are kept. Bonds, Cleaners, policies and records
are kept.

Services that the activator has taken over are released: their selectors are restored, and callers reach their pods directly.
Sleeping workloads are scaled to their former replicas, because nothing would wake them; --keep-asleep leaves them at zero.
Companion Services are deleted, because they route to the proxies. Labels and annotations are removed from workloads, conditions
from Services.

Stop Sojourn first. While it runs, drain changes nothing.

With --only activator, finalizers and in-use marks stay: only workloads are woken, Services released and companions deleted. The
rights of the activator's account suffice. The chart's hook does this before "helm uninstall".

Examples:
  kubectl -n ${sojournNamespace} scale deployment --all --replicas=0
  sojourn drain --dry-run
  sojourn drain --yes`,
  flags: {
    namespace: { ...namespace, help: 'With --only activator: only in this namespace (default: all)' },
    output,
    kubeconfig,
    context,
    'dry-run': { type: 'boolean', help: 'Only show what would change' },
    yes: { type: 'boolean', help: 'Make the changes' },
    only: { type: 'string', value: 'activator', help: 'Only what the activator holds: workloads and Services' },
    stop: {
      type: 'string',
      value: 'NAME',
      help: `With --only activator: first scale this Deployment of ${sojournNamespace} to zero`,
    },
    'keep-asleep': { type: 'boolean', help: 'Leave sleeping workloads at zero replicas' },
  },
  async run(call) {
    const { flags, io } = call
    if (flags['dry-run'] && flags.yes) throw new UsageError('--dry-run and --yes exclude each other')
    const { only, stop } = flags
    if (only !== undefined && only !== 'activator') throw new UsageError('--only takes "activator"')
    if (only === undefined && (stop ?? flags.namespace) !== undefined)
      throw new UsageError('--stop and --namespace need --only activator')
    using connection = connect(call)
    using bar = progress(io)
    const dryRun = !flags.yes
    const drained = await drainCluster(connection.client, {
      dryRun,
      keepAsleep: Boolean(flags['keep-asleep']),
      ...(only === undefined ? {} : { activator: { namespace: textFlag(flags, 'namespace') } }),
      ...(stop === undefined ? {} : { stop: textFlag(flags, 'stop')! }),
      onProgress: bar.show,
      signal: io.signal,
    })
    bar.end()
    show(call, drained)
    return outcome(call, drained)
  },
}

function show(call: Call, { items, problems }: Drained): void {
  const data = items.map(({ object, ...item }) => {
    const { kind, metadata } = object
    return { kind, ...placeOf(metadata), ...item }
  })
  print(call, { kind: 'HeldList', items: data, problems }, () =>
    items.length === 0 ? 'Nothing to drain: Sojourn holds no objects.' : heldTable(items),
  )
}

function heldTable(items: readonly DrainItem[]): string {
  const rows = items.map((item) => [describeRef(refOf(item.object)), item.heldBy.join(', '), outcomeText(item)])
  const count = (test: (item: DrainItem) => boolean) => items.filter(test).length
  const sums = (
    [
      ['deleted at once', ({ becomes }) => becomes === 'goes'],
      ['released', ({ becomes }) => becomes === 'given-back'],
      ['woken', ({ becomes }) => becomes === 'wakes'],
      ['failed', ({ outcome }) => outcome === 'failed'],
    ] satisfies [string, (item: DrainItem) => boolean][]
  ).flatMap(([what, test]) => (count(test) > 0 ? [`${what}: ${count(test)}`] : []))
  return [table(['OBJECT', 'HELD BY', 'THEN'], rows), '', [`Held: ${items.length}`, ...sums].join(', ') + '.'].join(
    '\n',
  )
}

/** The outcome of an object, or the plan for it. */
function outcomeText({ becomes, replicas, outcome }: DrainItem): string {
  if (outcome === 'failed') return 'FAILED'
  const isDone = outcome === 'done'
  switch (becomes) {
    case 'goes':
      return isDone ? 'deleted' : 'will be deleted'
    case 'stays':
      return isDone ? 'released' : 'kept, released'
    case 'given-back':
      return isDone ? 'released' : 'will be released'
    case 'wakes':
      return isDone ? `scaled to ${replicas}` : `will be scaled to ${replicas}, as before it slept`
    case 'stays-asleep':
      return 'stays asleep'
  }
}

/** Reports what remains to be done. 0 only when nothing is held any more, or with --dry-run. */
function outcome({ flags, io }: Call, { items, running, problems }: Drained): number {
  for (const problem of problems) io.err(`sojourn drain: ${problem}\n`)
  if (running.length > 0) {
    const stop = `kubectl -n ${sojournNamespace} scale deployment --all --replicas=0`
    io.err(`sojourn drain: Sojourn is still running: ${running.join(', ')}. Stop it first: ${stop}\n`)
  }
  if (flags['dry-run']) return 0
  if (!flags.yes && items.length > 0) {
    io.err('sojourn drain: nothing was changed: add --yes to make the changes\n')
    return 2
  }
  return problems.length > 0 || running.length > 0 ? 1 : 0
}
