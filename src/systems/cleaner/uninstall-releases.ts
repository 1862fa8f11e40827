import { refOf, type StoredObject } from '../../kube/object.ts'
import type { Refusal } from '../../tenancy/act-as.ts'
import { refusalRetryMs } from './decision/decide.ts'
import { releaseIn, type Committed, type RecordedDecision } from './decision/recorded-decision.ts'
import type { Pending } from './delete-targets.ts'
import { RecordsUnavailable } from '../../helm/release-holders.ts'
import { preflight } from '../../helm/release-rights.ts'
import { uninstall } from '../../helm/uninstall.ts'
import { actorOf, type CleanerPorts } from './ports.ts'

/** Uninstalls the recorded releases one after the other. Returns when to look again while one of them is not finished. */
export async function uninstallReleases(
  ports: CleanerPorts,
  { self, decision }: Committed,
): Promise<Pending | undefined> {
  const { clock, events } = ports
  const note = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.record(self, { type, reason, message })
  for (const recorded of decision.releases ?? []) {
    const release = releaseIn(recorded)
    const request = { ...requestFor(ports, self), release, digest: recorded.digest }
    const answer = await uninstall(request).catch(noteFailure(ports, self, release.name))
    switch (answer.result) {
      case 'waiting':
        return { retryAt: answer.until ?? clock.now() + 60_000, held: [] }
      case 'refused':
        return { retryAt: clock.now() + refusalRetryMs, held: [], refusal: answer.refusal }
      case 'absent':
        continue
      case 'unreadable':
        note('Warning', 'HelmUninstallFailed', `${answer.message}: none of its objects was deleted`)
        continue
      case 'uninstalled':
        for (const message of answer.warnings) note('Warning', 'HelmResourceKept', message)
        note('Normal', 'HelmReleaseUninstalled', `uninstalled release ${release.name}`)
    }
  }
  return undefined
}

/** The decision with each release bound to the record that it has now; or why the identity behind the Cleaner may not uninstall one. */
export async function prepareReleases(
  ports: CleanerPorts,
  { self, decision }: Committed,
): Promise<RecordedDecision | Refusal> {
  if (!decision.releases) return decision
  const releases: typeof decision.releases = []
  const notFound = [...(decision.notFound ?? [])]
  for (const recorded of decision.releases) {
    const request = { ...requestFor(ports, self), release: releaseIn(recorded) }
    const ready = await preflight(request).catch(noteFailure(ports, self, recorded.name))
    if ('refusal' in ready) return ready.refusal
    if (ready.isAbsent) notFound.push(`release ${recorded.name}: it is not installed`)
    releases.push({ ...recorded, digest: ready.digest })
  }
  return { ...decision, releases, ...(notFound.length > 0 ? { notFound } : {}) }
}

/** Records an Event about a release that could not be read or uninstalled, and throws on. */
function noteFailure({ events }: CleanerPorts, self: StoredObject, release: string) {
  return (error: Error): never => {
    const reason = error instanceof RecordsUnavailable ? 'HelmSetupFailed' : 'HelmUninstallFailed'
    events.record(self, { type: 'Warning', reason, message: `release ${release}: ${error.message}` })
    throw error
  }
}

function requestFor(ports: CleanerPorts, self: StoredObject) {
  const { client, door, clock, actAs } = ports
  const actor = actorOf(ports, self)
  const actorElsewhere = actAs.for(self, { deletesElsewhere: true })
  const { namespace = '' } = self.metadata
  return {
    client,
    actor,
    actorElsewhere,
    door,
    clock,
    by: { system: 'cleaner', object: refOf(self) } as const,
    follows: self.metadata.uid,
    namespace,
  }
}
