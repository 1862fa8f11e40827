import { closeOpenBreaker, pauseDeletions } from '../../app/operations/deletion-switches.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { formatAge, parseTime } from '../../kube/time.ts'
import { readFlags, textFlag, UsageError, type Call, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { fittedTable } from '../terminal/fitted-table.ts'
import { print } from '../terminal/output.ts'

/** Who deletes objects; `user` is a user's own deletion of an object with dependents. */
const systems = ['cleaner', 'collector', 'janitor', 'promoter', 'activator', 'environments', 'user']

/** Lists departure records, and holds the switches for all deletions. */
export const departures: Command = {
  name: 'departures',
  summary: 'List deleted objects: when, why and by which rule; pause and resume deletions',
  usage: '[flags]',
  help: `
Newest first. Run "sojourn restore NAME" to restore one.

Examples:
  sojourn departures -A
  sojourn departures -n team --system cleaner
  sojourn departures --close-breaker`,
  flags: {
    ...readFlags,
    system: {
      type: 'string',
      value: 'NAME',
      help: `Only deletions by this system: ${systems.join(', ')}`,
      completes: systems,
    },
    'close-breaker': { type: 'boolean', help: 'Close the circuit breaker: deletions continue' },
    pause: { type: 'boolean', help: 'Pause all deletions by Sojourn until --resume' },
    resume: { type: 'boolean', help: 'Resume deletions after --pause' },
  },
  async run(call) {
    const { flags, io } = call
    const system = textFlag(flags, 'system')
    if (flags.pause && flags.resume) throw new UsageError('--pause and --resume exclude each other')
    using connection = connect(call)
    const { client, namespace } = connection
    if (flags['close-breaker']) {
      const wasOpen = await closeOpenBreaker(client, io.now())
      return io.out(
        wasOpen ? 'the circuit breaker is closed: deletions continue\n' : 'the circuit breaker was not open\n',
      )
    }
    if (flags.pause || flags.resume) {
      await pauseDeletions(client, Boolean(flags.pause))
      return io.out(flags.pause ? 'paused: nothing is deleted until --resume\n' : 'resumed: deletions continue\n')
    }
    const selector = ['!sojourn.dev/page', ...(system ? [`sojourn.dev/system=${system}`] : [])].join(',')
    const records: Departure[] = []
    for await (const page of client.listAll<Departure>(departure.type, {
      ...(namespace ? { namespace } : {}),
      labelSelector: selector,
    }))
      records.push(...page.items)
    const sorted = records.toSorted((left, right) => recordedAt(right) - recordedAt(left))
    print(call, { kind: 'DepartureList', items: sorted }, () =>
      sorted.length === 0
        ? `No deletions are recorded${namespace ? ` in namespace ${namespace}; try -A` : ''}.`
        : departuresTable(sorted, call, namespace === undefined),
    )
  },
}

function departuresTable(records: readonly Departure[], { io }: Call, all: boolean): string {
  const rows = records.map((record) => {
    const { metadata, spec, status } = record
    const by = spec.by.object ? `${spec.by.system} ${spec.by.object.kind}/${spec.by.object.name}` : spec.by.system
    return [
      ...(all ? [metadata.namespace ?? ''] : []),
      metadata.name,
      `${spec.object.kind}/${spec.object.name}`,
      status?.phase ?? 'Recorded',
      String(spec.takes ?? 0),
      formatAge(io.now() - recordedAt(record)),
      by,
      spec.because,
    ]
  })
  return fittedTable(io, {
    headings: [...(all ? ['NAMESPACE'] : []), 'NAME', 'OBJECT', 'PHASE', 'WITH', 'AGE', 'BY', 'BECAUSE'],
    rows,
    brief: all ? [0, 1, 3, 4, 5] : [0, 2, 3, 4],
    detail: (row) => `${row.at(-6)} by ${row.at(-2)}: ${row.at(-1)}`,
  }).text
}

function recordedAt({ spec }: Departure): number {
  return parseTime(spec.recordedAt) ?? 0
}
