import { closeTheBreaker, pauseDepartures } from '../app/door-switches.ts'
import { departure, type Departure } from '../apis/departure.ts'
import { formatAge, parseTime } from '../kube/time.ts'
import { readFlags, textFlag, type Command } from './command.ts'
import { connect } from './connect.ts'
import { print, table } from './output.ts'

/** What left, when, why, by which rule. */
export const departures: Command = {
  name: 'departures',
  summary: 'What left, when, why, by which rule',
  usage: '[flags]',
  help: `
Newest first. "sojourn restore NAME" brings one back.

Examples:
  sojourn departures -A
  sojourn departures -n team --system cleaner
  sojourn departures --close-breaker`,
  flags: {
    ...readFlags,
    system: {
      type: 'string',
      value: 'NAME',
      help: 'Only what this system let go: cleaner, collector, janitor, promoter, activator',
      completes: ['cleaner', 'collector', 'janitor', 'promoter', 'activator'],
    },
    'close-breaker': { type: 'boolean', help: 'Let things leave again after the breaker opened' },
    pause: { type: 'boolean', help: 'Let nothing leave until --resume' },
    resume: { type: 'boolean', help: 'Let things leave again after --pause' },
  },
  async run(call) {
    using connection = connect(call)
    const { client, namespace } = connection
    const { flags, io } = call
    if (flags['close-breaker']) {
      const wasOpen = await closeTheBreaker(client, io.now())
      return io.out(wasOpen ? 'the breaker is closed: things may leave again\n' : 'the breaker was not open\n')
    }
    if (flags.pause || flags.resume) {
      await pauseDepartures(client, Boolean(flags.pause))
      return io.out(flags.pause ? 'paused: nothing leaves until --resume\n' : 'resumed: things may leave again\n')
    }
    const system = textFlag(flags, 'system')
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
        ? 'Nothing has left.'
        : departuresTable(sorted, { all: namespace === undefined, now: io.now() }),
    )
  },
}

function departuresTable(
  records: readonly Departure[],
  { all, now }: { readonly all: boolean; readonly now: number },
): string {
  const headings = [...(all ? ['NAMESPACE'] : []), 'NAME', 'OBJECT', 'PHASE', 'BECAUSE', 'BY', 'WITH', 'AGE']
  const rows = records.map((record) => {
    const { metadata, spec, status } = record
    const by = spec.by.object ? `${spec.by.system} ${spec.by.object.kind}/${spec.by.object.name}` : spec.by.system
    return [
      ...(all ? [metadata.namespace ?? ''] : []),
      metadata.name,
      `${spec.object.kind}/${spec.object.name}`,
      status?.phase ?? 'Recorded',
      spec.because,
      by,
      String(spec.takes ?? 0),
      formatAge(now - recordedAt(record)),
    ]
  })
  return table(headings, rows)
}

function recordedAt({ spec }: Departure): number {
  return parseTime(spec.recordedAt) ?? 0
}
