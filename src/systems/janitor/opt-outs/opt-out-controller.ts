import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import { isLiveOptOut } from '../../../departures/door/protection.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { Controller, type ControllerPorts } from '../../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { turned } from '../decision/candidate.ts'
import { isActive } from '../decision/decide.ts'
import { namesResource } from './opt-out.ts'
import type { ResourceRef } from '../verdict/provider.ts'
import type { WorkPorts } from '../work/work.ts'

const finalizer = 'sojourn.dev/opt-out-mirror'

/** Follows opt-outs: ends the marks of what is kept, and writes the word on the resource itself, or takes it back. */
export function optOutController(
  ports: WorkPorts,
  controllerPorts: ControllerPorts,
  { dryRun }: { readonly dryRun: boolean },
): Controller {
  const { client, desk, clock, providers } = ports
  const controller = new Controller({
    name: 'janitor-opt-outs',
    ports: controllerPorts,
    concurrency: 2,
    reconcile: ({ name }) => reconcile(name),
  })
  controller.watch(desk.optOuts)
  return controller

  async function reconcile(name: string): Promise<Outcome> {
    const object = desk.optOuts.get('', name)
    if (!object || dryRun) return settled
    const now = clock.now()
    const ref = refOf(object)
    if (!isLiveOptOut(object, now)) {
      await release(object, ref)
      return settled
    }
    if (ref) {
      await endMarks(object, now)
      await mirror(object, ref, now)
    }
    const endsAt = parseTime(object.spec.expiresAt)
    return endsAt === undefined ? settled : wakeAt(endsAt)
  }

  async function endMarks(object: CleanupOptOut, now: number): Promise<void> {
    for (const candidate of marksOf(object)) {
      const status = turned(
        candidate.status,
        { phase: 'OptedOut', because: 'opted-out', at: now },
        { finishedAt: formatTime(now), scheduledTime: null, message: `CleanupOptOut ${object.metadata.name}` },
      )
      await client
        .update(cleanupCandidate.type, { ...candidate, status }, { subresource: 'status' })
        .catch(ignoring('Conflict', 'NotFound'))
      ports.metrics.turns.inc({ policy: candidate.spec.policy, phase: 'OptedOut', because: 'opted-out' })
    }
  }

  /** Marks it would end; one that is being deleted has gone too far. */
  function marksOf(object: CleanupOptOut): readonly CleanupCandidate[] {
    return desk.candidates.list().filter(({ spec, status }) => {
      const phase = status?.phase ?? 'Unmarked'
      return isActive(phase) && phase !== 'Deleting' && namesResource(object, spec.resource)
    })
  }

  async function mirror(object: CleanupOptOut, ref: ResourceRef, now: number): Promise<void> {
    if (object.status?.mirrored !== undefined) return
    const { name, finalizers = [] } = object.metadata
    // Before the word is written, so that no deletion of the opt-out can leave it behind.
    const held = finalizers.includes(finalizer)
      ? object
      : await client.patch<CleanupOptOut>(
          cleanupOptOut.type,
          { name },
          { type: 'merge', body: { metadata: { finalizers: [...finalizers, finalizer] } } },
        )
    const mirrored = await providers
      .find((provider) => provider.name === ref.provider)
      ?.mirror(ref, true)
      .catch((error: unknown) => {
        ports.log.error('opt-out not mirrored', { optOut: name, error })
        return undefined
      })
    if (mirrored === undefined) return
    await client.update(
      cleanupOptOut.type,
      { ...held, status: { ...held.status, since: formatTime(now), mirrored } },
      { subresource: 'status' },
    )
  }

  async function release(object: CleanupOptOut, ref: ResourceRef | undefined): Promise<void> {
    const { name, finalizers = [] } = object.metadata
    if (object.status?.mirrored && ref && !isKeptOtherwise(object, ref)) {
      await providers.find((provider) => provider.name === ref.provider)?.mirror(ref, false)
      await client
        .patch(
          cleanupOptOut.type,
          { name },
          { type: 'merge', body: { status: { mirrored: null } } },
          { subresource: 'status' },
        )
        .catch(ignoring('NotFound'))
    }
    if (!finalizers.includes(finalizer)) return
    const rest = finalizers.filter((candidate) => candidate !== finalizer)
    await client
      .patch(cleanupOptOut.type, { name }, { type: 'merge', body: { metadata: { finalizers: rest } } })
      .catch(ignoring('NotFound'))
  }

  function isKeptOtherwise(object: CleanupOptOut, ref: ResourceRef): boolean {
    const now = clock.now()
    return desk.optOuts
      .list()
      .some(
        (other) => other.metadata.uid !== object.metadata.uid && isLiveOptOut(other, now) && namesResource(other, ref),
      )
  }
}

/** The one resource an opt-out names completely enough to find it. */
function refOf({ spec }: CleanupOptOut): ResourceRef | undefined {
  const { resource } = spec
  const name = resource?.name ?? resource?.id
  if (!resource || name === undefined) return undefined
  const { provider = 'kubernetes', apiVersion = provider === 'aws' ? 'aws/v1' : undefined, uid = '' } = resource
  if (apiVersion === undefined || (provider !== 'kubernetes' && provider !== 'aws')) return undefined
  return { ...resource, provider, apiVersion, name, uid }
}
