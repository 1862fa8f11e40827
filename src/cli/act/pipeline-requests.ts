import type { ApprovalSpec } from '../../apis/approval.ts'
import { readFlags, textFlag, type Call, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { approverNow, checkEnvironment } from './approve.ts'

const { output: _, 'all-namespaces': __, ...flags } = readFlags
const common = {
  ...flags,
  comment: { type: 'string', value: 'TEXT', help: 'The reason, recorded with the request' },
} as const
const passesGates =
  'It passes the gates of the environment: windows, verification, approvals. It lasts until a newer revision is due there.'

/** Promotes a revision that the first environment has had. */
export const promote = command('Promote', {
  summary: 'Promote a revision to one environment',
  usage: 'PIPELINE ENVIRONMENT REVISION [flags]',
  help: `\nThe first environment must have had the revision; "kubectl get pipeline NAME -o jsonpath={.status.revisions}" lists them.\n${passesGates}\n\nExamples:\n  sojourn promote shop prod 1.4.2 -n team`,
  words: { min: 3, max: 3, completes: ['pipelines', 'environments', 'revisions'] },
})

/** Promotes the revision that an environment ran before. */
export const rollback = command('Rollback', {
  summary: 'Promote the previous good revision to one environment',
  usage: 'PIPELINE ENVIRONMENT [flags]',
  help: `\n${passesGates}\n\nExamples:\n  sojourn rollback shop prod -n team --comment "checkout fails"`,
  words: { min: 2, max: 2, completes: ['pipelines', 'environments'] },
})

/** Tries again what has failed, was rejected, timed out or drifted. */
export const retry = command('Retry', {
  summary: 'Retry promotions that failed, were rejected or timed out',
  usage: 'PIPELINE [ENVIRONMENT] [flags]',
  help: `\nExamples:\n  sojourn retry shop prod -n team`,
  words: { min: 1, max: 2, completes: ['pipelines', 'environments'] },
})

/** Stops a pipeline from promoting. */
export const suspend = command('Suspend', {
  summary: 'Stop the promotions of a pipeline',
  usage: 'PIPELINE [flags]',
  help: `\nThe spec stays as it is, so that a GitOps controller does not undo it.\n\nExamples:\n  sojourn suspend shop -n team --comment "incident 42"`,
  words: { min: 1, max: 1, completes: ['pipelines'] },
})

/** Ends a suspension. */
export const resume = command('Resume', {
  summary: 'Continue the promotions of a pipeline',
  usage: 'PIPELINE [flags]',
  help: `\nIt ends what "sojourn suspend" began; spec.suspend is changed in the spec.\n\nExamples:\n  sojourn resume shop -n team`,
  words: { min: 1, max: 1, completes: ['pipelines'] },
})

function command(
  decision: ApprovalSpec['decision'],
  given: Pick<Command, 'summary' | 'usage' | 'help' | 'words'>,
): Command {
  return { name: decision.toLowerCase(), flags: common, run: (call) => send(call, decision), ...given }
}

async function send(call: Call, decision: ApprovalSpec['decision']): Promise<number> {
  using connection = connect(call)
  const { client, namespace = 'default' } = connection
  const [name = '', environment = '*', revision] = call.words
  const { requestOfPipeline } = await import('../../app/operations/approve.ts')
  const comment = textFlag(call.flags, 'comment')
  await checkEnvironment(client, { namespace, name }, environment)
  const asked = {
    decision,
    environment,
    approver: await approverNow(client),
    ...(revision ? { revision } : {}),
    ...(comment ? { comment } : {}),
  }
  const answer = await requestOfPipeline(client, { namespace, name }, asked)
  if (answer?.state === 'Ignored') {
    call.io.err(`sojourn ${decision.toLowerCase()}: refused: ${answer.message}\n`)
    return 1
  }
  const result = answer ? answer.message : 'recorded; the promoter has not answered yet'
  call.io.out(`${decision.toLowerCase()} ${name}${environment === '*' ? '' : ` ${environment}`}: ${result}\n`)
  return 0
}
