import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import { isLiveOptOut } from '../../../departures/door/protection.ts'
import { healthStatus } from '../../../kube/conditions.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { Controller, type ControllerPorts } from '../../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { withPhase } from '../decision/candidate.ts'
import { isActive } from '../decision/decide.ts'
import { namesResource } from './opt-out.ts'
import type { Provider, ResourceRef } from '../verdict/provider.ts'
import type { WorkPorts } from '../work/work.ts'

const finalizer = 'sojourn.dev/opt-out-mirror'

/** Reconciles CleanupOptOuts: ends the marks of opted-out resources and protects the resource itself while one is live. */
export function optOutController(
  ports: WorkPorts,
  controllerPorts: ControllerPorts,
  { dryRun }: { readonly dryRun: boolean },
): Controller {
  const reconciler = new OptOutReconciler(ports)
  const controller = new Controller({
    name: 'janitor-opt-outs',
    ports: controllerPorts,
    concurrency: 2,
    reconcile: async ({ name }) => (dryRun ? settled : reconciler.reconcile(name)),
  })
  controller.watch(ports.caches.optOuts)
  return controller
}

class OptOutReconciler {
  readonly #ports: WorkPorts

  constructor(ports: WorkPorts) {
    this.#ports = ports
  }

  async reconcile(name: string): Promise<Outcome> {
    const { caches, clock } = this.#ports
    const object = caches.optOuts.get('', name)
    if (!object) return settled
    const now = clock.now()
    const ref = refOf(object)
    if (!isLiveOptOut(object, now)) {
      await this.#unprotect(object, ref)
      await this.#report(object, 'Expired', `it ended at ${object.spec.expiresAt}`)
      return settled
    }
    if (ref) {
      await this.#endMarks(object, now)
      await this.#protect(object, ref, now)
    }
    await this.#report(object, 'Protecting', 'no system of Sojourn deletes what it names')
    const endsAt = parseTime(object.spec.expiresAt)
    return endsAt === undefined ? settled : wakeAt(endsAt)
  }

  async #report(object: CleanupOptOut, reason: string, message: string): Promise<void> {
    const { client, clock } = this.#ports
    const { name, deletionTimestamp } = object.metadata
    const status = healthStatus(object, { health: 'ready', reason, message }, clock.now())
    const { observedGeneration, conditions } = object.status ?? {}
    if (deletionTimestamp || deepEqual({ observedGeneration, conditions }, status)) return
    await client.merge(cleanupOptOut.type, { name }, { status }, { subresource: 'status' }).catch(ignoring('NotFound'))
  }

  async #endMarks(object: CleanupOptOut, now: number): Promise<void> {
    const { client, metrics } = this.#ports
    for (const candidate of this.#marksOf(object)) {
      const status = withPhase(
        candidate.status,
        { phase: 'OptedOut', because: 'opted-out', at: now },
        { finishedAt: formatTime(now), scheduledTime: null, message: `CleanupOptOut ${object.metadata.name}` },
      )
      await client.updateStatus(cleanupCandidate.type, candidate, status).catch(ignoring('Conflict', 'NotFound'))
      metrics.phaseChanges.inc({ policy: candidate.spec.policy, phase: 'OptedOut', because: 'opted-out' })
    }
  }

  /** The marks an opt-out ends. It is too late for those whose deletion has started. */
  #marksOf(object: CleanupOptOut): readonly CleanupCandidate[] {
    return this.#ports.caches.candidates.list().filter(({ spec, status }) => {
      const phase = status?.phase ?? 'Unmarked'
      return isActive(phase) && phase !== 'Deleting' && namesResource(object, spec.resource)
    })
  }

  /** Sets `expiration_time: never` on the resource, so that other tools and restored copies keep it, too. */
  async #protect(object: CleanupOptOut, ref: ResourceRef, now: number): Promise<void> {
    if (object.status?.mirrored !== undefined) return
    const { client, log } = this.#ports
    const held = await this.#withFinalizer(object)
    const mirrored = await this.#providerOf(ref)
      ?.setNeverExpires(ref, true)
      .catch((error: unknown) => {
        log.error('opt-out not written to its resource', { optOut: object.metadata.name, error })
        return undefined
      })
    if (mirrored === undefined) return
    await client.updateStatus(cleanupOptOut.type, held, { ...held.status, since: formatTime(now), mirrored })
  }

  /** Adds the finalizer before the resource is touched: deleting the opt-out then always removes the protection. */
  async #withFinalizer(object: CleanupOptOut): Promise<CleanupOptOut> {
    const { name, finalizers = [] } = object.metadata
    if (finalizers.includes(finalizer)) return object
    const body = { metadata: { finalizers: [...finalizers, finalizer] } }
    return this.#ports.client.merge<CleanupOptOut>(cleanupOptOut.type, { name }, body)
  }

  /** Removes the protection that `#protect` set, then the finalizer. */
  async #unprotect(object: CleanupOptOut, ref: ResourceRef | undefined): Promise<void> {
    const { client } = this.#ports
    const { name, finalizers = [] } = object.metadata
    if (object.status?.mirrored && ref && !this.#isProtectedByAnother(object, ref)) {
      await this.#providerOf(ref)?.setNeverExpires(ref, false)
      const body = { status: { mirrored: null } }
      await client.merge(cleanupOptOut.type, { name }, body, { subresource: 'status' }).catch(ignoring('NotFound'))
    }
    if (!finalizers.includes(finalizer)) return
    const body = { metadata: { finalizers: finalizers.filter((other) => other !== finalizer) } }
    await client.merge(cleanupOptOut.type, { name }, body).catch(ignoring('NotFound'))
  }

  #isProtectedByAnother({ metadata }: CleanupOptOut, ref: ResourceRef): boolean {
    const { caches, clock } = this.#ports
    const now = clock.now()
    return caches.optOuts
      .list()
      .some((other) => other.metadata.uid !== metadata.uid && isLiveOptOut(other, now) && namesResource(other, ref))
  }

  #providerOf(ref: ResourceRef): Provider | undefined {
    return this.#ports.providers.find((provider) => provider.name === ref.provider)
  }
}

/** The resource that an opt-out names; undefined when it names none completely enough to find it. */
function refOf({ spec }: CleanupOptOut): ResourceRef | undefined {
  const { resource } = spec
  const name = resource?.name ?? resource?.id
  if (!resource || name === undefined) return undefined
  const { provider = 'kubernetes', apiVersion = provider === 'aws' ? 'aws/v1' : undefined, uid = '' } = resource
  if (apiVersion === undefined || (provider !== 'kubernetes' && provider !== 'aws')) return undefined
  return { ...resource, provider, apiVersion, name, uid }
}
