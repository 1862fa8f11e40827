import type { Place } from '../../../kube/object.ts'
import { isRecord, jsonIn } from '../../../kube/basics/json.ts'
import type { ProcessParts } from '../../../runtime/process-parts.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../../apis/pipeline.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { approve, type ApprovalRequest } from './approve.ts'
import type { Decision } from '../decision/decide.ts'
import {
  Nonces,
  approverOf,
  keysOf,
  maxBodyBytes,
  sharedApprover,
  verifyBodySignature,
  verifySignature,
} from './signature.ts'
import { environmentPlanOf } from '../model/plan.ts'
import type { SecretData } from '../repository/repository-access.ts'
import { RequestLimit } from './request-limit.ts'
import { percentDecoded } from '../../../kube/basics/percent-decoded.ts'

/** An HTTP request as a value, made by the server. */
export interface RouteRequest {
  readonly method: string
  /** As sent: percent-encoded, with the query. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Address of the connection, not of any header. */
  readonly remoteAddress: string
  /** The user, when the server has authenticated and authorised the request. */
  readonly user?: string
}

export interface RouteResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; no body when absent. */
  readonly body?: unknown
}

/** One endpoint. `path` is matched against the request's path without its query. */
export interface Route {
  readonly method: 'GET' | 'POST'
  readonly path: RegExp
  /** `user`: the server admits only authenticated users who may read pipelines. `own`: the handler authenticates. */
  readonly access: 'own' | 'user'
  readonly handle: (request: RouteRequest) => Promise<RouteResponse>
}

export interface RoutePorts extends Pick<ProcessParts, 'client' | 'clock'> {
  readonly readSecret: (place: Required<Place>) => Promise<SecretData | undefined>
  /** Reconciles this pipeline now and polls its pull requests. */
  readonly hint: (pipeline: Pipeline) => void
  readonly preview: (pipeline: Pipeline) => Promise<Decision>
  readonly countApproval: (result: string) => void
}

/** The promoter's HTTP endpoints: signed approvals, pipeline-controller's two webhooks, and the preview of the next decision. */
export function promoterRoutes(ports: RoutePorts): readonly Route[] {
  const context: Context = { ...ports, limit: new RequestLimit(), nonces: new Nonces() }
  return [
    { method: 'POST', path: approvalPath, access: 'own', handle: guarded(context, handleApproval) },
    { method: 'POST', path: legacyApprovalPath, access: 'own', handle: guarded(context, handleLegacyApproval) },
    { method: 'POST', path: webhookPath, access: 'own', handle: guarded(context, handleWebhook) },
    { method: 'GET', path: previewPath, access: 'user', handle: (request) => handlePreview(request, context) },
  ]
}

interface Context extends RoutePorts {
  readonly limit: RequestLimit
  readonly nonces: Nonces
}

type Handler = (request: RouteRequest, context: Context) => Promise<RouteResponse>

const approvalPath = /^\/v1\/namespaces\/([^/]+)\/pipelines\/([^/]+)\/environments\/([^/]+)\/approvals$/
const previewPath = /^\/v1\/namespaces\/([^/]+)\/pipelines\/([^/]+)\/preview$/
const webhookPath = /^\/promotion\/([^/]+)\/([^/]+)\/([^/]+)$/
// Clients of pipeline-controller send the slashes of a revision unencoded.
const legacyApprovalPath = /^\/approval\/([^/]+)\/([^/]+)\/([^/]+)\/(.+)$/

/** Admits POST only, and limits requests per client. */
function guarded(context: Context, handler: Handler): Route['handle'] {
  return async (request) => {
    if (request.method !== 'POST')
      return { status: 405, headers: { allow: 'POST' }, body: problem('method not allowed') }
    const now = context.clock.now()
    const endsAt = context.limit.take(request.remoteAddress, now)
    if (endsAt !== undefined)
      return {
        status: 429,
        headers: { 'retry-after': String(Math.ceil((endsAt - now) / 1000)) },
        body: problem('too many requests: retry after the time in Retry-After'),
      }
    return handler(request, context)
  }
}

const handleApproval: Handler = async (request, context) => {
  const [namespace = '', name = '', environment = ''] = partsOf(request, approvalPath)
  const signer = await authenticate(request, { namespace, name, environment }, context)
  if (!signer) return refused(context)
  const body = jsonOf(request.body)
  if (!body) return { status: 400, body: problem('the body is not a JSON object') }
  const decision = decisionOf(body['decision'])
  const { approver, by } = signer
  const isShared = by === 'shared-key'
  const claimed = textOf(body['approver'])
  if (by === 'own-key' && claimed !== undefined && claimed !== approver)
    return { status: 422, body: problem(`approver: this key speaks for ${approver} only`) }
  const promotionId = textOf(body['promotionId'])
  if (!decision || !promotionId)
    return { status: 422, body: problem('the body needs promotionId, and decision: Approve or Reject') }
  const revision = textOf(body['revision'])
  const comment = textOf(body['comment']) ?? (isShared && claimed ? `in the name of ${claimed}` : undefined)
  const optional = { ...(revision ? { revision } : {}), ...(comment ? { comment } : {}) }
  const approval = { environment, promotionId, decision, approver, ...optional }
  return createApproval({ namespace, name }, approval, context)
}

const handleLegacyApproval: Handler = async (request, context) => {
  const [namespace = '', name = '', environment = '', revision = ''] = partsOf(request, legacyApprovalPath)
  const place = { namespace, name, environment }
  const signer = (await authenticate(request, place, context)) ?? (await authenticateLegacy(request, place, context))
  if (!signer) return refused(context)
  const { approver } = signer
  return createApproval({ namespace, name }, { environment, revision, decision: 'Approve', approver }, context)
}

/** pipeline-controller's webhook. Its content is only checked; the promoter then reads the targets itself. */
const handleWebhook: Handler = async (request, context) => {
  const [namespace = '', name = '', environment = ''] = partsOf(request, webhookPath)
  const { pipeline, keys } = await keysFor({ namespace, name }, context)
  const event = jsonOf(request.body)
  const invalid = !event ? 'the body is not a JSON object' : pipeline && hintProblem(pipeline, environment, event)
  const isProved = keys ? verifyBodySignature(request.body, request.headers['x-signature'], keys) : !invalid
  // One answer: a caller who neither has the key nor knows the application must not learn which pipelines exist.
  if (!pipeline || !isProved) return { status: 401, body: problem('the signature is missing or invalid') }
  if (invalid) return { status: event ? 422 : 400, body: problem(invalid) }
  context.hint(pipeline)
  return { status: 202, body: { accepted: true } }
}

async function handlePreview(request: RouteRequest, context: Context): Promise<RouteResponse> {
  const [namespace = '', name = ''] = partsOf(request, previewPath)
  const pipeline = await find({ namespace, name }, context)
  if (!pipeline) return { status: 404, body: problem('pipeline not found') }
  const { effect, announcements, wakeAt, status } = await context.preview(pipeline)
  const gates = Object.fromEntries(
    Object.entries(status.environments ?? {}).map(([environment, state]) => [environment, state.gates ?? []]),
  )
  return {
    status: 200,
    body: {
      effect: effect ? { do: effect.do, environment: effect.environment, revision: effect.promotion.revision } : null,
      announcements,
      gates,
      wakeAt: Number.isFinite(wakeAt) ? wakeAt : null,
    },
  }
}

async function createApproval(
  place: Required<Place>,
  request: ApprovalRequest,
  context: Context,
): Promise<RouteResponse> {
  const outcome = await approve(context.client, place, { request, clock: context.clock }).catch(ignoring('NotFound'))
  if (!outcome) return refused(context)
  context.countApproval(outcome.outcome)
  switch (outcome.outcome) {
    case 'recorded':
      return { status: 202, body: outcome }
    case 'same':
      return { status: 200, body: outcome }
    case 'stale':
      return { status: 409, body: { ...problem('this promotion is not waiting for approval'), ...outcome } }
  }
}

/** Who approves, and how that was proved. */
interface Signer {
  readonly approver: string
  readonly by: 'user' | 'own-key' | 'shared-key'
}

/** The authenticated user, or who the signing key speaks for. A name in the body is not believed. An unknown pipeline and a wrong signature give the same response. */
async function authenticate(
  request: RouteRequest,
  place: EnvironmentPlace,
  context: Context,
): Promise<Signer | undefined> {
  if (request.user !== undefined) return { approver: request.user, by: 'user' }
  const { keys = {} } = await keysFor(place, context)
  const header = request.headers['sojourn-signature']
  const now = context.clock.now()
  const signed = verifySignature(request, header, { keys, now })
  if (!signed || !context.nonces.accept(`${place.namespace}/${place.name}/${signed.nonce}`, header ?? '', now))
    return undefined
  const approver = approverOf(signed.keyId)
  return { approver, by: approver === sharedApprover ? 'shared-key' : 'own-key' }
}

/**
 * pipeline-controller's signature, where the Pipeline accepts it during a transition. It does not cover the path, so one that was
 * seen once approves every revision; the Approval names the shared key.
 */
async function authenticateLegacy(
  { headers, body }: RouteRequest,
  place: EnvironmentPlace,
  context: Context,
): Promise<Signer | undefined> {
  const { pipeline, keys } = await keysFor(place, context)
  const plan = pipeline && environmentPlanOf(pipeline, place.environment ?? '')?.promotion
  if (!plan?.spec.approval?.legacySignatures || !keys) return undefined
  const isValid = verifyBodySignature(body, headers['x-signature'], keys)
  return isValid ? { approver: sharedApprover, by: 'shared-key' } : undefined
}

interface EnvironmentPlace {
  readonly namespace: string
  readonly name: string
  readonly environment?: string
}

/** A pipeline and the HMAC keys of its environment's own Secret, else of its own. */
async function keysFor(place: EnvironmentPlace, context: Context) {
  const { namespace, environment } = place
  const pipeline = await find(place, context)
  const own = pipeline?.spec.environments.find(({ name }) => name === environment)?.promotion
  const name = (own?.strategy.secretRef ?? pipeline?.spec.promotion?.strategy.secretRef)?.name
  return { pipeline, keys: name ? keysOf(await context.readSecret({ namespace, name })) : undefined }
}

/** One response for every failed authentication, so that it reveals nothing. */
function refused({ countApproval }: Context): RouteResponse {
  countApproval('refused')
  return { status: 401, body: problem('the signature is missing or invalid') }
}

function find({ namespace, name }: Required<Place>, { client }: Context): Promise<Pipeline | undefined> {
  return client.get<Pipeline>(pipelineKind.type, { namespace, name }).catch(ignoring('NotFound'))
}

function partsOf({ path }: RouteRequest, pattern: RegExp): string[] {
  const match = pattern.exec(path.split('?')[0] ?? '')
  return (match ?? []).slice(1).map((part) => percentDecoded(part) ?? part)
}

/** The body as a JSON object; undefined when it is something else or too large. */
function jsonOf(body: Uint8Array): Record<string, unknown> | undefined {
  if (body.byteLength > maxBodyBytes) return undefined
  const value = jsonIn(Buffer.from(body).toString('utf8'))
  return isRecord(value) ? value : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function decisionOf(value: unknown): 'Approve' | 'Reject' | undefined {
  const word = textOf(value)?.toLowerCase()
  return word === 'approve' ? 'Approve' : word === 'reject' ? 'Reject' : undefined
}

function problem(message: string): { readonly message: string } {
  return { message }
}

/** Why an event of pipeline-controller's webhook does not fit the pipeline, by the same rules; undefined when it does. */
function hintProblem(
  { spec }: Pipeline,
  environment: string,
  event: Readonly<Record<string, unknown>>,
): string | undefined {
  const { revision } = (event['metadata'] ?? {}) as { readonly revision?: unknown }
  if (typeof revision !== 'string' || revision === '') return 'the event has no revision'
  const index = spec.environments.findIndex(({ name }) => name === environment)
  const source = spec.environments[index]
  if (!source) return `the pipeline has no environment "${environment}"`
  const next = spec.environments[index + 1]
  if (!next) return `"${environment}" is the last environment`
  if (next.targets.length === 0) return `"${next.name}" has no targets`
  const { apiVersion, kind, name, namespace } = (event['involvedObject'] ?? {}) as Record<string, unknown>
  const app = source.appRef ?? spec.appRef
  if (apiVersion !== app.apiVersion || kind !== app.kind || name !== app.name)
    return 'the event is about another application than the pipeline'
  if (!source.targets.some((target) => target.namespace === namespace))
    return 'the event is from a namespace that is not a target'
  return undefined
}
