import type * as Rds from '@aws-sdk/client-rds'
import type { DBInstance, DBSnapshot } from '@aws-sdk/client-rds'
import { backupShield, tagsOf, timeOf, type AwsType } from '../read/aws-type.ts'
import { unknownUse, unused, used } from '../../model/resource.ts'
import { defineType } from '../read/define-type.ts'
import { listCompletely, requireItems } from '../read/listing.ts'
import { idleDays, largestValues } from '../read/metrics.ts'
import type { AwsSession } from '../read/session.ts'

async function rds(session: AwsSession): Promise<{ readonly sdk: typeof Rds; readonly client: Rds.RDSClient }> {
  const sdk = await import('@aws-sdk/client-rds')
  return { sdk, client: session.client(sdk.RDSClient) }
}

const tagRds: NonNullable<AwsType['tag']> = async (session, { raw }, { key, value }) => {
  const { sdk, client } = await rds(session)
  const { DBInstanceArn, DBSnapshotArn } = raw as DBInstance & DBSnapshot
  const ResourceName = DBSnapshotArn ?? DBInstanceArn
  if (value === undefined) await client.send(new sdk.RemoveTagsFromResourceCommand({ ResourceName, TagKeys: [key] }))
  else await client.send(new sdk.AddTagsToResourceCommand({ ResourceName, Tags: [{ Key: key, Value: value }] }))
}

/** Databases of RDS. In use while CloudWatch sees connections, while replicas depend on them, and while they are younger than two weeks. */
export const dbInstanceType = defineType<DBInstance>({
  name: 'dbInstance',
  absent: ['DBInstanceNotFoundFault', 'DBInstanceNotFound'],
  tag: tagRds,
  async all(session) {
    const { sdk, client } = await rds(session)
    return listCompletely(
      { what: `databases of ${session.account}`, pageSize: 100, items: 'DBInstances' },
      (pageSize: number) => sdk.paginateDescribeDBInstances({ client, pageSize }, {}),
    )
  },
  async one(session, id) {
    const { sdk, client } = await rds(session)
    const { DBInstances = [] } = await client.send(new sdk.DescribeDBInstancesCommand({ DBInstanceIdentifier: id }))
    return DBInstances[0]
  },
  // The restorable time moves every few minutes: it would make each look another version.
  describe({ LatestRestorableTime: _, ...database }) {
    const id = database.DBInstanceIdentifier ?? ''
    const tags = tagsOf(database.TagList)
    const detail = database.DBClusterIdentifier
      ? `it belongs to the cluster ${database.DBClusterIdentifier}`
      : 'its deletion protection is on'
    const shield = { because: 'shielded' as const, detail }
    return {
      id,
      uid: database.DbiResourceId ?? database.DBInstanceArn ?? id,
      createdAt: timeOf(database.InstanceCreateTime),
      tags,
      raw: database,
      facts: { name: id },
      shield: database.DeletionProtection || database.DBClusterIdentifier ? shield : backupShield(tags),
    }
  },
  async use({ session }) {
    const metric = { namespace: 'AWS/RDS', metric: 'DatabaseConnections', dimension: 'DBInstanceIdentifier' }
    const all = await dbInstanceType.list(session)
    const connections = await largestValues(
      session,
      metric,
      all.map(({ id }) => id),
    )
    return ({ DBInstanceIdentifier = '', DBInstanceStatus, InstanceCreateTime, ReadReplicaDBInstanceIdentifiers }) => {
      const [replica] = ReadReplicaDBInstanceIdentifiers ?? []
      if (replica !== undefined) return used(`its replica ${replica}`)
      if (DBInstanceStatus !== 'available' && DBInstanceStatus !== 'stopped')
        return used(`its state ${DBInstanceStatus}`)
      const createdAt = timeOf(InstanceCreateTime) ?? session.now()
      if (session.now() - createdAt < idleDays * 86_400_000) return used(`its age of less than ${idleDays} days`)
      const seen = connections.get(DBInstanceIdentifier)
      if (!seen) return unknownUse('CloudWatch has no values of DatabaseConnections')
      return seen.largest > 0
        ? used(`up to ${seen.largest} connections in the last ${idleDays} days`)
        : unused(`it had no connections for ${idleDays} days`, seen.since)
    }
  },
  async remove(session, { DBInstanceIdentifier, ReadReplicaSourceDBInstanceIdentifier: source }) {
    const { sdk, client } = await rds(session)
    // AWS makes no final snapshot of a replica: its data is that of its source.
    const final = source
      ? { SkipFinalSnapshot: true }
      : { FinalDBSnapshotIdentifier: `final-${DBInstanceIdentifier}-${Math.floor(session.now() / 1000)}` }
    await client.send(new sdk.DeleteDBInstanceCommand({ DBInstanceIdentifier, ...final }))
  },
})

/** Manual snapshots of RDS. Unused when a later snapshot of the same database exists: the last one may be all that is left of it. */
export const dbSnapshotType = defineType<DBSnapshot>({
  name: 'dbSnapshot',
  absent: ['DBSnapshotNotFoundFault', 'DBSnapshotNotFound'],
  tag: tagRds,
  all: async (session) => (await snapshotsOf(session)).filter(({ SnapshotType }) => SnapshotType === 'manual'),
  async one(session, id) {
    const { sdk, client } = await rds(session)
    const { DBSnapshots = [] } = await client.send(new sdk.DescribeDBSnapshotsCommand({ DBSnapshotIdentifier: id }))
    return DBSnapshots[0]
  },
  describe(snapshot) {
    const id = snapshot.DBSnapshotIdentifier ?? ''
    const createdAt = timeOf(snapshot.SnapshotCreateTime)
    const tags = tagsOf(snapshot.TagList)
    return {
      id,
      uid: `${snapshot.DBSnapshotArn ?? id}@${createdAt ?? ''}`,
      createdAt,
      tags,
      raw: snapshot,
      facts: { name: id },
      shield: backupShield(tags),
    }
  },
  async use(evidence) {
    const { session } = evidence
    const latest = new Map<string, { readonly at: number; readonly id: string }>()
    const all = await snapshotsOf(session)
    for (const { DBSnapshotIdentifier: id = '', SnapshotCreateTime, Status, ...snapshot } of all) {
      const at = Status === 'available' ? (timeOf(SnapshotCreateTime) ?? 0) : 0
      if (at > (latest.get(databaseOf(snapshot))?.at ?? 0)) latest.set(databaseOf(snapshot), { at, id })
    }
    const manual = all.filter(({ SnapshotType }) => SnapshotType === 'manual')
    const ids = manual.map(({ DBSnapshotIdentifier = '' }) => DBSnapshotIdentifier)
    const shared = await evidence.sharedUse(ids, (id) => sharedWith(session, id))
    return (snapshot) => {
      const { DBSnapshotIdentifier: id = '', Status } = snapshot
      if (Status !== 'available') return used(`its state ${Status}`)
      const elsewhere = shared.get(id)
      if (elsewhere) return elsewhere
      const last = latest.get(databaseOf(snapshot))
      if (!last || last.id === id) return used(`database ${snapshot.DBInstanceIdentifier}, whose last snapshot it is`)
      return unused(`${last.id} is a later snapshot of ${snapshot.DBInstanceIdentifier}`, last.at)
    }
  },
  async remove(session, { DBSnapshotIdentifier }) {
    const { sdk, client } = await rds(session)
    await client.send(new sdk.DeleteDBSnapshotCommand({ DBSnapshotIdentifier }))
  },
})

/** Databases may be created again under the same name. */
function databaseOf({
  DbiResourceId,
  DBInstanceIdentifier = '',
}: Pick<DBSnapshot, 'DbiResourceId' | 'DBInstanceIdentifier'>) {
  return `${DBInstanceIdentifier} ${DbiResourceId ?? ''}`
}

/** Manual and automated snapshots. */
async function snapshotsOf(session: AwsSession): Promise<readonly DBSnapshot[]> {
  const { sdk, client } = await rds(session)
  return listCompletely(
    { what: `snapshots of databases of ${session.account}`, pageSize: 100, items: 'DBSnapshots' },
    (pageSize: number) => sdk.paginateDescribeDBSnapshots({ client, pageSize }, {}),
  )
}

/** Accounts that may restore a snapshot. */
async function sharedWith(session: AwsSession, DBSnapshotIdentifier: string): Promise<readonly string[]> {
  const { sdk, client } = await rds(session)
  const { DBSnapshotAttributesResult: result } = await client.send(
    new sdk.DescribeDBSnapshotAttributesCommand({ DBSnapshotIdentifier }),
  )
  const attributes = requireItems(result?.DBSnapshotAttributes)
  return attributes.find(({ AttributeName }) => AttributeName === 'restore')?.AttributeValues ?? []
}
