import { formatAge, parseTime } from '../../kube/time.ts'
import type { Scan, ScannedObject } from '../../queries/use/scan.ts'
import { readFlags, textFlag, type Command, type Io } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { fittedTable } from '../terminal/fitted-table.ts'
import { print } from '../terminal/output.ts'
import { progress } from '../terminal/progress.ts'

/** Finds unused objects in any cluster, without installing anything. */
export const scan: Command = {
  name: 'scan',
  summary: 'Find unused objects in any cluster, with the reason; nothing is installed or written',
  usage: '[flags]',
  help: `
Lists each kind once and judges its objects as the janitor does: used, unused or unknown. What you may not list makes the use of
the objects it may refer to unknown, never unused. To have unused objects deleted, write a CleanupPolicy.

Examples:
  sojourn scan
  sojourn scan -n team --all
  sojourn scan -o json | jq '.objects[] | select(.verdict == "unused")'`,
  flags: {
    ...readFlags,
    namespace: { ...readFlags.namespace, help: 'Only objects of this namespace (default: all)' },
    'all-namespaces': { ...readFlags['all-namespaces'], help: 'All namespaces, as without it' },
    all: { type: 'boolean', help: 'Show used and unknown objects too' },
  },
  async run(call) {
    const { flags, io } = call
    using connection = connect(call)
    const { scan: scanCluster } = await import('../../queries/use/scan.ts')
    using bar = progress(io)
    const namespace = flags['all-namespaces'] ? undefined : textFlag(flags, 'namespace')
    const found = await scanCluster(connection.client, {
      namespace,
      now: io.now(),
      signal: io.signal,
      onProgress: bar.show,
    })
    bar.end()
    const shown = found.objects.filter(({ verdict }) => flags['all'] === true || verdict !== 'used')
    const unused = found.objects.filter(({ verdict }) => verdict === 'unused')
    const data = { counts: countsOf(found), objects: shown, unread: found.unread }
    print(call, data, () => report(flags['all'] === true ? shown : unused, found, io))
  },
}

function countsOf({ objects }: Scan): Readonly<Record<ScannedObject['verdict'], number>> {
  const count = (wanted: ScannedObject['verdict']) => objects.filter(({ verdict }) => verdict === wanted).length
  return { used: count('used'), unused: count('unused'), unknown: count('unknown') }
}

function report(rows: readonly ScannedObject[], found: Scan, io: Io): string {
  const { text } = fittedTable(io, {
    headings: ['VERDICT', 'KIND', 'NAMESPACE', 'NAME', 'AGE', 'WHY'],
    rows: rows.map(({ verdict, kind, namespace = '', name, createdAt, reason }) => [
      verdict,
      kind,
      namespace,
      name,
      formatAge(io.now() - (parseTime(createdAt) ?? io.now())),
      reason,
    ]),
    brief: [1, 2, 3],
    detail: ([verdict, , , , age, why]) => `${verdict}, ${age} old: ${why}`,
  })
  const { used, unused, unknown } = countsOf(found)
  const doubts = Map.groupBy(
    found.objects.filter(({ verdict }) => verdict === 'unknown'),
    ({ reason }) => reason,
  )
  return [
    ...(rows.length > 0 ? [text, ''] : []),
    `${found.objects.length} objects: ${unused} unused, ${used} used, ${unknown} unknown.`,
    ...[...doubts].map(([reason, objects]) => `Unknown: ${objects.length} objects: ${reason}`),
    ...found.unread.map((what) => `Not scanned: ${what}`),
  ].join('\n')
}
