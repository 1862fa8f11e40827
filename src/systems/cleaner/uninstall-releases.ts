import { refOf } from '../../kube/object.ts'
import { wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { ActPorts, Work } from './act.ts'
import { releaseIn } from './decision-record.ts'
import { RecordsUnavailable, uninstall } from './helm/uninstall.ts'

/** Uninstalls the recorded releases one after the other; the result is when to look again, if one takes its time. */
export async function uninstallReleases(
  { client, door, clock, events }: Pick<ActPorts, 'client' | 'door' | 'clock' | 'events'>,
  { self, decision }: Work,
): Promise<Outcome | undefined> {
  const { namespace = '' } = self.metadata
  const by = refOf(self)
  for (const recorded of decision.releases ?? []) {
    const release = releaseIn(recorded)
    const answer = await uninstall({ client, door, clock, by, namespace, release }).catch((error: Error) => {
      const reason = error instanceof RecordsUnavailable ? 'HelmSetupFailed' : 'HelmUninstallFailed'
      events.record(self, { type: 'Warning', reason, message: `release ${release.name}: ${error.message}` })
      throw error
    })
    switch (answer.result) {
      case 'waiting':
        return wakeAt(answer.until ?? clock.now() + 60_000)
      case 'absent':
        continue
      case 'unreadable':
        events.record(self, {
          type: 'Warning',
          reason: 'HelmUninstallFailed',
          message: `${answer.message}: nothing of it was deleted`,
        })
        continue
      case 'uninstalled':
        for (const message of answer.warnings)
          events.record(self, { type: 'Warning', reason: 'HelmResourceKept', message })
        events.record(self, {
          type: 'Normal',
          reason: 'HelmReleaseUninstalled',
          message: `uninstalled release ${release.name}`,
        })
    }
  }
  return undefined
}
