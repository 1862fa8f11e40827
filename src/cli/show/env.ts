import { environment, type Environment } from '../../apis/environment.ts'
import { formatAge, parseTime } from '../../kube/time.ts'
import { readFlags, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { print, table } from '../terminal/output.ts'

const flags = {
  ...readFlags,
  'all-namespaces': { ...readFlags['all-namespaces'], help: 'All namespaces, as without it' },
}

/** Lists environments. */
export const env: Command = {
  name: 'env',
  summary: 'List environments: state, owner, last use, when they sleep and are deleted',
  usage: '[flags]',
  help: `
Announced and held environments come first, then those used last.

Examples:
  sojourn env
  sojourn env -o json`,
  flags,
  async run(call) {
    using connection = connect({ ...call, flags: { 'all-namespaces': !call.flags['namespace'], ...call.flags } })
    const { client, namespace } = connection
    const { items } = await client.list<Environment>(environment.type, namespace ? { namespace } : {})
    const now = call.io.now()
    const sorted = items.toSorted((left, right) => rank(left) - rank(right) || usedAt(right) - usedAt(left))
    print(call, { kind: 'EnvironmentList', items: sorted }, () => {
      if (items.length === 0)
        return 'There are no environments. Apply an EnvironmentClass, then label a Namespace so that it matches: see docs/guide/environments.md.'
      return table(
        ['NAME', 'PHASE', 'OWNER', 'URL', 'USED', 'SLEEPS', 'DELETES', 'PR'],
        sorted.map((each) => rowOf(each, now)),
      )
    })
  },
}

function rowOf({ metadata, status = {} }: Environment, now: number): readonly string[] {
  return [
    metadata.namespace ?? '',
    status.phase ?? '',
    status.owner ?? '-',
    status.urls?.[0] ?? '-',
    age(status.lastUsedAt, now),
    until(status.sleepsAt, now),
    until(status.deletesAt, now),
    status.pullRequest?.state ?? '-',
  ]
}

function rank({ status }: Environment): number {
  return ['Held', 'Deleting', 'Announced'].includes(status?.phase ?? '') ? 0 : 1
}

function usedAt({ status }: Environment): number {
  return parseTime(status?.lastUsedAt) ?? 0
}

function age(time: string | undefined, now: number): string {
  const at = parseTime(time)
  return at === undefined ? '-' : formatAge(now - at)
}

function until(time: string | undefined, now: number): string {
  const at = parseTime(time)
  if (at === undefined) return '-'
  return at <= now ? 'now' : `in ${formatAge(at - now)}`
}
