import { drain as drainCluster, type Drained, type DrainItem } from '../../app/operations/drain.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { describeRef, refOf, placeOf } from '../../kube/object.ts'
import { readFlags, UsageError, type Call, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { print, table } from '../terminal/output.ts'
import { progress } from '../terminal/progress.ts'

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
to their pods. Workloads that it put to sleep get back as many replicas as they had, since nobody would wake them any more;
--keep-asleep leaves them. Companion Services go, for they lead to proxies that are gone; our label and notes come off workloads, our
conditions off Services.

Stop Sojourn first: while it runs it would take hold of everything again, and nothing is changed.

Examples:
  kubectl -n ${sojournNamespace} scale deployment --all --replicas=0
  sojourn drain --dry-run
  sojourn drain --yes`,
  flags: {
    output,
    kubeconfig,
    context,
    'dry-run': { type: 'boolean', help: 'Only show what is held, taken over and asleep' },
    yes: { type: 'boolean', help: 'Let go of it, give it back and wake it' },
    'keep-asleep': { type: 'boolean', help: 'Leave workloads that sleep without replicas' },
  },
  async run(call) {
    const { flags, io } = call
    if (flags['dry-run'] && flags.yes) throw new UsageError('--dry-run and --yes are one too many')
    using connection = connect(call)
    using bar = progress(io)
    const dryRun = !flags.yes
    const drained = await drainCluster(connection.client, {
      dryRun,
      keepAsleep: Boolean(flags['keep-asleep']),
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
    items.length === 0 ? 'Sojourn holds nothing.' : heldTable(items),
  )
}

function heldTable(items: readonly DrainItem[]): string {
  const rows = items.map((item) => [describeRef(refOf(item.object)), item.heldBy.join(', '), words(item)])
  const count = (test: (item: DrainItem) => boolean) => items.filter(test).length
  const sums = (
    [
      ['to leave at once', ({ becomes }) => becomes === 'goes'],
      ['to be given back', ({ becomes }) => becomes === 'given-back'],
      ['to be woken', ({ becomes }) => becomes === 'wakes'],
      ['not let go', ({ outcome }) => outcome === 'failed'],
    ] satisfies [string, (item: DrainItem) => boolean][]
  ).flatMap(([what, test]) => (count(test) > 0 ? [`${what}: ${count(test)}`] : []))
  return [table(['OBJECT', 'HELD BY', 'THEN'], rows), '', [`Held: ${items.length}`, ...sums].join(', ') + '.'].join(
    '\n',
  )
}

/** What becomes of an object, or became of it. */
function words({ becomes, replicas, outcome }: DrainItem): string {
  if (outcome === 'failed') return 'FAILED'
  const isDone = outcome === 'done'
  switch (becomes) {
    case 'goes':
      return isDone ? 'gone' : 'goes at once'
    case 'stays':
      return isDone ? 'let go' : 'stays'
    case 'given-back':
      return isDone ? 'given back' : 'is given back'
    case 'wakes':
      return isDone ? `scaled to ${replicas}` : `is scaled to ${replicas}, as before it slept`
    case 'stays-asleep':
      return 'stays asleep'
  }
}

/** Says what is left to do; 0 only when nothing is held any more, or nobody asked for more than a look. */
function outcome({ flags, io }: Call, { items, running, problems }: Drained): number {
  for (const problem of problems) io.err(`sojourn drain: ${problem}\n`)
  if (running.length > 0) {
    const stop = `kubectl -n ${sojournNamespace} scale deployment --all --replicas=0`
    io.err(`sojourn drain: it still runs there: ${running.join(', ')}. Stop it first: ${stop}\n`)
  }
  if (flags['dry-run']) return 0
  if (!flags.yes && items.length > 0) {
    io.err('sojourn drain: nothing was changed: add --yes to let go of them\n')
    return 2
  }
  return problems.length > 0 || running.length > 0 ? 1 : 0
}
