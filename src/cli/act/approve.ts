import type { Place } from '../../kube/object.ts'
import { pipeline, type Pipeline } from '../../apis/pipeline.ts'
import { whoAmI } from '../../client/access-review.ts'
import type { Client } from '../../client/client.ts'
import { ignoring, StatusError } from '../../kube/status-error.ts'
import { readFlags, textFlag, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { nearest } from '../terminal/nearest.ts'

const { output: _, 'all-namespaces': __, ...flags } = readFlags

/** Approves or rejects a promotion. */
export const approve: Command = {
  name: 'approve',
  summary: 'Approve (or reject) the promotion of a revision',
  usage: 'PIPELINE ENVIRONMENT REVISION [flags]',
  help: `
An approval is for one revision; another revision needs its own.

Examples:
  sojourn approve podinfo prod 6.7.0 -n pipelines
  sojourn approve podinfo prod 6.7.0 -n pipelines --reject --comment "not on a Friday"`,
  flags: {
    ...flags,
    reject: { type: 'boolean', help: 'Reject instead of approve' },
    comment: { type: 'string', value: 'TEXT', help: 'The reason, recorded with the approval' },
  },
  words: { min: 3, max: 3, completes: ['pipelines', 'environments', 'revisions'] },
  async run(call) {
    using connection = connect(call)
    const { client, namespace = 'default' } = connection
    const [name = '', environment = '', revision = ''] = call.words
    const { approvePromotion } = await import('../../app/operations/approve.ts')
    const comment = textFlag(call.flags, 'comment')
    const decision = call.flags.reject ? 'Reject' : 'Approve'
    await checkEnvironment(client, { namespace, name }, environment)
    const answer = await approvePromotion(
      client,
      { namespace, name },
      { environment, revision, decision, approver: await approverNow(client), ...(comment ? { comment } : {}) },
    )
    if (answer.outcome === 'stale') {
      const there =
        answer.revision === undefined ? 'no promotion is under way' : `the promotion under way is of ${answer.revision}`
      const why =
        answer.revision === revision ? 'it is approved or rejected already, or waits for something else' : there
      call.io.err(`sojourn approve: ${revision} is not waiting for approval in ${environment}: ${why}\n`)
      call.io.err(`Run "sojourn explain pipeline/${name} -n ${namespace}" to see what it waits for.\n`)
      return 1
    }
    call.io.out(
      `${decision === 'Approve' ? 'approved' : 'rejected'} ${revision} for ${environment}${answer.outcome === 'same' ? ' (as before)' : ''}\n`,
    )
    return 0
  },
}

/** Throws, with what there is instead, when there is no such Pipeline or it has no such environment; `*` is any. */
export async function checkEnvironment(client: Client, place: Required<Place>, environment: string): Promise<void> {
  const found = await client.get<Pipeline>(pipeline.type, place).catch(ignoring('NotFound'))
  if (!found)
    throw new StatusError(
      'NotFound',
      `there is no Pipeline "${place.name}" in namespace ${place.namespace}; run "sojourn status -A" for all`,
    )
  const names = found.spec.environments.map((each) => each.name)
  if (environment === '*' || names.includes(environment)) return
  const guess = nearest(environment, names)
  const help = guess ? `did you mean "${guess}"?` : `it has ${names.join(', ')}`
  throw new StatusError('NotFound', `Pipeline "${place.name}" has no environment "${environment}"; ${help}`)
}

/** The user name that the server authenticates: approvals are counted by user. */
export async function approverNow(client: Client): Promise<string> {
  return (await whoAmI(client)) || 'unknown'
}
