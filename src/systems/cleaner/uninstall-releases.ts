import { refOf } from '../../kube/object.ts'
import { wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { releaseIn, type Committed } from './decision/recorded-decision.ts'
import { RecordsUnavailable, uninstall } from './helm/uninstall.ts'
import type { CleanerPorts } from './ports.ts'

/** Uninstalls the recorded releases one after the other. Returns when to look again while one of them is not finished. */
export async function uninstallReleases(
  { client, door, clock, events }: CleanerPorts,
  { self, decision }: Committed,
): Promise<Outcome | undefined> {
  const { namespace = '' } = self.metadata
  const by = refOf(self)
  const note = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.record(self, { type, reason, message })
  for (const recorded of decision.releases ?? []) {
    const release = releaseIn(recorded)
    const answer = await uninstall({ client, door, clock, by, namespace, release }).catch((error: Error) => {
      const reason = error instanceof RecordsUnavailable ? 'HelmSetupFailed' : 'HelmUninstallFailed'
      note('Warning', reason, `release ${release.name}: ${error.message}`)
      throw error
    })
    switch (answer.result) {
      case 'waiting':
        return wakeAt(answer.until ?? clock.now() + 60_000)
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
