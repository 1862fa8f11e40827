import { Question, type Review } from '../../apiserver/objects/contract/admission.ts'
import { CelError } from '../../cel/errors.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { jsonPatch, type JsonPatchOperation } from '../../kube/patches/json-patch.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Followed } from './followed.ts'
import { isExempt, matchedKind, requestAs, type Match } from './match.ts'
import type { ServedKind } from '../../apiserver/kinds/contract/served-kind.ts'
import { bindingsOf, group, programOf, versionsOf, type PolicyPorts } from './policies.ts'
import { afterMutation, type Mutator } from './mutations.ts'
import type { ClientConfig, WebhookAnswer, WebhookCaller } from './webhook-call.ts'

interface Webhook extends Match {
  readonly name: string
  readonly clientConfig: ClientConfig
  readonly failurePolicy?: string
  readonly sideEffects?: string
  readonly timeoutSeconds?: number
  readonly reinvocationPolicy?: string
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[]
}

interface Configuration extends StoredObject {
  readonly webhooks?: readonly Webhook[]
}

/** What calls webhooks need besides what policies need. */
export interface WebhookPorts extends PolicyPorts {
  readonly call: WebhookCaller
  /** A new uid, for each review. */
  readonly uid: () => string
}

/** A webhook that a request has to be sent to. */
interface Target {
  readonly webhook: Webhook
  readonly type: ServedKind
  /** Names it in `view.answers`. */
  readonly id: string
}

const mutating = `mutatingwebhookconfigurations.${group}`
const validating = `validatingwebhookconfigurations.${group}`

/** Whether any webhook is registered. */
export function hasWebhooks(followed: Followed): boolean {
  return followed.has(mutating) || followed.has(validating)
}

/** The mutating webhooks of a request, in order. */
export function mutatingWebhooks(ports: WebhookPorts, review: Review): readonly Mutator[] {
  return targets(ports, mutating, review).map((target) => ({
    isReinvoked: target.webhook.reinvocationPolicy === 'IfNeeded',
    mutate: (object) => patched(ports, { ...review, object }, target),
  }))
}

/** Asks all validating webhooks at once; throws the first refusal and returns the warnings of all webhooks. */
export function validateByWebhooks(ports: WebhookPorts, review: Review): readonly string[] {
  const found = targets(ports, validating, review).map((target) => ({
    target,
    question: questionOf(ports, review, target),
  }))
  const open = found.filter(({ question }) => !review.view.answers?.has(question.key))
  if (open.length > 0)
    throw new Question(async (answers) => {
      await Promise.all(open.map(({ question }) => question.ask(answers)))
    })
  for (const { target, question } of found)
    usable(target.webhook, review.view.answers?.get(question.key) as WebhookAnswer)
  const answers = [...(review.view.answers ?? [])].filter(([key]) => key.startsWith(keyPrefix))
  return answers.flatMap(([, answer]) => (answer as WebhookAnswer).warnings ?? [])
}

const keyPrefix = 'webhook '

function targets(ports: WebhookPorts, resource: string, review: Review): readonly Target[] {
  if (!ports.followed.has(resource) || isExempt(review)) return []
  return ports.followed.of<Configuration>(resource).flatMap((configuration) =>
    (configuration.webhooks ?? []).flatMap((webhook, index) => {
      const type = matchedKind(webhook, review, () => versionsOf(ports, review.type))
      if (!type || !meetsConditions(ports, { review, type }, { configuration, webhook })) return []
      return [{ webhook, type, id: `${configuration.metadata.uid}/${index}` }]
    }),
  )
}

function meetsConditions(
  ports: WebhookPorts,
  { review, type }: { readonly review: Review; readonly type: ServedKind },
  { configuration, webhook }: { readonly configuration: Configuration; readonly webhook: Webhook },
): boolean {
  const { matchConditions = [], name, failurePolicy } = webhook
  if (matchConditions.length === 0) return true
  // One object may hold several webhooks, each with its own conditions.
  const program = programOf(matchConditions, { matchConditions })
  const isMatched = program.evaluation(bindingsOf(ports, review, type)).matches()
  if (!(isMatched instanceof CelError)) return isMatched
  if (failurePolicy === 'Ignore') return false
  const where = `${configuration.metadata.name}/${name}`
  throw new StatusError(
    'Forbidden',
    `admission webhook "${where}" cannot decide its matchConditions: ${isMatched.message}`,
  )
}

/** The object after a webhook's patch. */
function patched(ports: WebhookPorts, review: Review & { readonly object: KubeObject }, target: Target): KubeObject {
  const { webhook, type } = target
  const question = questionOf(ports, review, target)
  if (!review.view.answers?.has(question.key)) throw new Question(question.ask)
  const answer = usable(webhook, review.view.answers.get(question.key) as WebhookAnswer)
  if (!answer?.patch) return review.object
  try {
    const sent = requestAs(review, type).object
    return afterMutation(review, type, jsonPatch(sent, answer.patch as readonly JsonPatchOperation[]) as KubeObject)
  } catch (error) {
    throw failed(webhook, `the patch cannot be applied: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** A question to a webhook; its key is its content, so an answer counts only for the object it was given for. */
function questionOf({ call, uid }: WebhookPorts, review: Review, { webhook, type, id }: Target) {
  const { object, oldObject, request } = requestAs(review, type)
  const { managedFields: _managed, ...metadata } = object?.metadata ?? {}
  const key = `${keyPrefix}${id} ${JSON.stringify([object && { ...object, metadata }, oldObject?.metadata.resourceVersion])}`
  const isSilent = webhook.sideEffects === 'None' || webhook.sideEffects === 'NoneOnDryRun'
  if (review.isDryRun && !isSilent)
    throw new StatusError('BadRequest', `admission webhook "${webhook.name}" does not support dry run`)
  const ask = async (answers: Map<string, unknown>) => {
    const { clientConfig, timeoutSeconds = 10 } = webhook
    const sent = { ...request, uid: uid(), object, oldObject }
    const answer = await call(clientConfig, sent, timeoutSeconds * 1000).catch((error: unknown): WebhookAnswer => ({
      problem: error instanceof Error ? error.message : String(error),
    }))
    answers.set(key, answer)
  }
  return { key, ask }
}

/** The answer, unless it is a refusal, which is thrown; undefined where a failed webhook is to be ignored. */
function usable(webhook: Webhook, answer: WebhookAnswer): WebhookAnswer | undefined {
  if (answer.problem !== undefined) {
    if (webhook.failurePolicy === 'Ignore') return undefined
    throw failed(webhook, answer.problem)
  }
  if (answer.allowed) return answer
  const { message, reason, code = 0, details } = answer.status ?? {}
  const because = message || reason
  const text = `admission webhook "${webhook.name}" denied the request${because ? `: ${because}` : ' without explanation'}`
  const { reason: known } = StatusError.from(Math.max(code, 400), { kind: 'Status', reason })
  throw new StatusError(known, text, { code: Math.max(code, 400), ...(details ? { details } : {}) })
}

function failed({ name }: Webhook, why: string): StatusError {
  const message = `failed calling webhook "${name}": ${why}`
  return new StatusError('InternalError', `Internal error occurred: ${message}`, { details: { causes: [{ message }] } })
}
