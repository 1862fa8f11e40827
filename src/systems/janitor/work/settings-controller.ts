import { notificationChannel, type NotificationChannel } from '../../../apis/notification-channel.ts'
import { providerAccount, type ProviderAccount } from '../../../apis/provider-account.ts'
import { workSchedule, type WorkSchedule } from '../../../apis/work-schedule.ts'
import { scheduleProblems } from '../../../apis/work-window.ts'
import { healthStatus } from '../../../kube/conditions.ts'
import { kindKey, type Key } from '../../../kube/key.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { channelProblem, readSecret } from '../../../notices/open-channel.ts'
import { Controller, type ControllerPorts } from '../../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import type { WorkPorts } from './work.ts'

type SettingsPorts = Pick<WorkPorts, 'client' | 'caches' | 'clock'>

/** Reports in the status of WorkSchedules, NotificationChannels and ProviderAccounts whether they can be used. */
export function settingsController(
  ports: SettingsPorts,
  controllerPorts: ControllerPorts,
  { dryRun }: { readonly dryRun: boolean },
): Controller {
  const controller = new Controller({
    name: 'janitor-settings',
    ports: controllerPorts,
    concurrency: 1,
    reconcile: async (key) => (dryRun ? settled : report(ports, key)),
  })
  controller.watch(ports.caches.schedules)
  controller.watch(ports.caches.channels)
  controller.watch(ports.caches.accounts)
  return controller
}

/** A Secret can be created at any time, which no watch reports. */
const secretRetryMs = 60_000

async function report(ports: SettingsPorts, { kind, name }: Key): Promise<Outcome> {
  const { client, clock } = ports
  const found = [workSchedule, notificationChannel, providerAccount].find(({ type }) => kindKey(type) === kind)
  const object = found && settingOf(ports, found.kind, name)
  if (!found || !object || object.metadata.deletionTimestamp) return settled
  const invalid = problemOf(object)
  const missing = invalid === undefined ? await missingSecret(ports, object) : undefined
  const claim =
    invalid !== undefined
      ? ({ health: 'stalled', reason: 'Invalid', message: invalid } as const)
      : missing !== undefined
        ? ({ health: 'not-ready', reason: 'SecretNotFound', message: missing } as const)
        : ({ health: 'ready', reason: 'Valid', message: 'its settings are valid' } as const)
  const status = { ...object.status, ...healthStatus(object, claim, clock.now()) }
  if (!deepEqual(object.status, status))
    await client.updateStatus(found.type, object, status).catch(ignoring('Conflict', 'NotFound'))
  return missing === undefined ? settled : wakeAt(clock.now() + secretRetryMs)
}

type Setting = WorkSchedule | NotificationChannel | ProviderAccount

function settingOf({ caches }: SettingsPorts, kind: string, name: string): Setting | undefined {
  if (kind === workSchedule.kind) return caches.schedules.get('', name)
  return kind === notificationChannel.kind ? caches.channels.get('', name) : caches.accounts.get('', name)
}

function problemOf(object: Setting): string | undefined {
  if (is<NotificationChannel>(object, notificationChannel.kind)) return channelProblem(object)
  if (!is<WorkSchedule>(object, workSchedule.kind)) return undefined
  const problems = scheduleProblems(object.spec)
  return problems.length > 0 ? problems.map(({ field, problem }) => `${field}: ${problem}`).join('; ') : undefined
}

/** Why its Secret cannot be used; undefined when it names none. */
async function missingSecret({ client }: SettingsPorts, object: Setting): Promise<string | undefined> {
  if (is<WorkSchedule>(object, workSchedule.kind)) return undefined
  const { secretRef } = is<NotificationChannel>(object, notificationChannel.kind)
    ? (object.spec.smtp ?? object.spec.slack ?? object.spec.webhook ?? {})
    : object.spec
  if (!secretRef) return undefined
  return readSecret(client, secretRef.name).then(
    () => undefined,
    (error: Error) => error.message,
  )
}

function is<T extends Setting>(object: StoredObject, kind: string): object is T {
  return object.kind === kind
}
