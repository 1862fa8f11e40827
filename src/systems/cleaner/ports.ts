import type { ProcessParts } from '../../runtime/process-parts.ts'
import type { NotificationChannel } from '../../apis/notification-channel.ts'
import type { Door } from '../../departures/door/door.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import type { Channel } from '../../notices/notice.ts'
import type { deletedEvent } from './outbox.ts'
import type { Actor, ActsFor } from '../../tenancy/act-as.ts'
import type { CleanerStatus } from './decision/model.ts'

/** How people are told before a deletion. */
export interface Notices {
  /** Throws when the definition of the channel is invalid. */
  readonly openChannel: (channel: NotificationChannel) => Channel
  /** Where people reach the keep page, if that is known. */
  readonly publicUrl: () => string | undefined
  readonly linkKey: () => Promise<string>
}

/** What the steps of a reconcile need from outside. */
export interface CleanerPorts extends Pick<ProcessParts, 'client' | 'clock' | 'log' | 'events'> {
  readonly door: Door
  /** How it acts for the Cleaners' authors. */
  readonly actAs: ActsFor
  /** Cleaner or ConditionalTTL: the kind that is reconciled. */
  readonly type: ResourceType
  /** Reconciles a Cleaner again soon. */
  readonly enqueue: (self: StoredObject) => void
  /** Holds the next reconcile of a Cleaner back until its cache shows this write. */
  readonly expect: (written: StoredObject) => void
  readonly notices: Notices
  /** Posts a CloudEvent to a sink. */
  readonly send: (sink: string, event: ReturnType<typeof deletedEvent>) => Promise<void>
}

/** Who reads and deletes for a Cleaner. Its own Namespace is the one object outside that a Cleaner may name. */
export function actorOf({ actAs }: Pick<CleanerPorts, 'actAs'>, self: StoredObject): Actor {
  return actAs.for(self, { ownNamespace: true })
}

/** Writes the status if it differs from the stored one; undefined when it does not. */
export async function writeStatus(
  { client, type, expect }: CleanerPorts,
  self: StoredObject,
  status: CleanerStatus,
): Promise<StoredObject | undefined> {
  if (deepEqual(self.status ?? {}, status)) return undefined
  const written = await client.updateStatus<StoredObject>(type, self, status)
  expect(written)
  return written
}
