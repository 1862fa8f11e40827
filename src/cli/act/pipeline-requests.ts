import type { ApprovalSpec } from '../../apis/approval.ts'
import { isStatusError, StatusError } from '../../kube/status-error.ts'
import { readFlags, textFlag, type Call, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { checkEnvironment, whoAmI } from './approve.ts'

const { output: _, 'all-namespaces': __, ...flags } = readFlags
const common = {
  ...flags,
  comment: { type: 'string', value: 'TEXT', help: 'The reason, recorded with the request' },
} as const
const passesGates =
  'It passes the gates of the environment: windows, verification, approvals. It lasts until the next run.'

/** Promotes a revision that the first environment has had. */
export const promote: Command = {
  name: 'promote',
  summary: 'Promote a revision to one environment',
  usage: 'PIPELINE ENVIRONMENT REVISION [flags]',
  help: `\nThe first environment must have had the revision; "kubectl get pipeline NAME -o jsonpath={.status.revisions}" lists them.\n${passesGates}\n\nExamples:\n  sojourn promote shop prod 1.4.2 -n team`,
  flags: common,
  words: { min: 3, max: 3, completes: ['pipelines', 'environments', 'revisions'] },
  run: (call) => send(call, 'Promote'),
}

/** Promotes the revision that an environment ran before. */
export const rollback: Command = {
  name: 'rollback',
  summary: 'Promote the previous good revision to one environment',
  usage: 'PIPELINE ENVIRONMENT [flags]',
  help: `\n${passesGates}\n\nExamples:\n  sojourn rollback shop prod -n team --comment "checkout fails"`,
  flags: common,
  words: { min: 2, max: 2, completes: ['pipelines', 'environments'] },
  run: (call) => send(call, 'Rollback'),
}

/** Tries again what has failed, was rejected, timed out or drifted. */
export const retry: Command = {
  name: 'retry',
  summary: 'Retry promotions that failed, were rejected or timed out',
  usage: 'PIPELINE [ENVIRONMENT] [flags]',
  help: `\nExamples:\n  sojourn retry shop prod -n team`,
  flags: common,
  words: { min: 1, max: 2, completes: ['pipelines', 'environments'] },
  run: (call) => send(call, 'Retry'),
}

/** Stops a pipeline from promoting. */
export const suspend: Command = {
  name: 'suspend',
  summary: 'Stop the promotions of a pipeline',
  usage: 'PIPELINE [flags]',
  help: `\nThe spec stays as it is, so that a GitOps controller does not undo it.\n\nExamples:\n  sojourn suspend shop -n team --comment "incident 42"`,
  flags: common,
  words: { min: 1, max: 1, completes: ['pipelines'] },
  run: (call) => send(call, 'Suspend'),
}

/** Ends a suspension. */
export const resume: Command = {
  name: 'resume',
  summary: 'Continue the promotions of a pipeline',
  usage: 'PIPELINE [flags]',
  help: `\nIt ends what "sojourn suspend" began; spec.suspend is changed in the spec.\n\nExamples:\n  sojourn resume shop -n team`,
  flags: common,
  words: { min: 1, max: 1, completes: ['pipelines'] },
  run: (call) => send(call, 'Resume'),
}

async function send(call: Call, decision: Exclude<ApprovalSpec['decision'], 'Approve' | 'Reject'>): Promise<number> {
  using connection = connect(call)
  const { client, namespace = 'default' } = connection
  const [name = '', environment = '*', revision] = call.words
  const { requestOfPipeline } = await import('../../app/operations/approve.ts')
  const comment = textFlag(call.flags, 'comment')
  try {
    if (environment !== '*') await checkEnvironment(client, { namespace, name }, environment)
    const answer = await requestOfPipeline(
      client,
      { namespace, name },
      {
        decision,
        environment,
        approver: await whoAmI(client),
        ...(revision ? { revision } : {}),
        ...(comment ? { comment } : {}),
      },
    )
    if (answer?.state === 'Ignored') {
      call.io.err(`sojourn ${decision.toLowerCase()}: refused: ${answer.message}\n`)
      return 1
    }
    const result = answer ? answer.message : 'recorded; the promoter has not answered yet'
    call.io.out(`${decision.toLowerCase()} ${name}${environment === '*' ? '' : ` ${environment}`}: ${result}\n`)
    return 0
  } catch (error) {
    if (!isStatusError(error, 'NotFound') || error.message.startsWith('Pipeline')) throw error
    const message = `there is no Pipeline "${name}" in namespace ${namespace}; run "sojourn status -A" for all`
    throw new StatusError('NotFound', message, { cause: error })
  }
}
