import type { LogGroup } from '@aws-sdk/client-cloudwatch-logs'
import { unused, used } from '../../model/resource.ts'
import { defineType } from '../read/define-type.ts'
import { askEach, inventoryError, listCompletely } from '../read/listing.ts'
import { idleDays } from '../read/metrics.ts'
import type { AwsSession } from '../read/session.ts'

async function logs(session: AwsSession) {
  const sdk = await import('@aws-sdk/client-cloudwatch-logs')
  return { sdk, client: session.client(sdk.CloudWatchLogsClient) }
}

/** Log groups of CloudWatch. In use while events arrive. `unusedFor` counts from the last event. */
export const logGroupType = defineType<LogGroup>({
  name: 'logGroup',
  absent: ['ResourceNotFoundException'],
  async tag(session, { raw }, { key, value }) {
    const { sdk, client } = await logs(session)
    const resourceArn = arnOf(raw as LogGroup)
    if (value === undefined) await client.send(new sdk.UntagResourceCommand({ resourceArn, tagKeys: [key] }))
    else await client.send(new sdk.TagResourceCommand({ resourceArn, tags: { [key]: value } }))
  },
  async all(session) {
    const { sdk, client } = await logs(session)
    return listCompletely(
      { what: `log groups of ${session.account}`, pageSize: 50, items: 'logGroups' },
      (pageSize: number) => sdk.paginateDescribeLogGroups({ client, pageSize }, {}),
    )
  },
  async one(session, id) {
    const { sdk, client } = await logs(session)
    const { logGroups = [] } = await client.send(new sdk.DescribeLogGroupsCommand({ logGroupNamePrefix: id }))
    return logGroups.find(({ logGroupName }) => logGroupName === id)
  },
  async describe(group, session) {
    const { sdk, client } = await logs(session)
    // A tag may protect the group, so missing tags make the inventory incomplete.
    const { tags } = await client
      .send(new sdk.ListTagsForResourceCommand({ resourceArn: arnOf(group) }))
      .catch((error: unknown) => {
        throw inventoryError(`tags of log groups of ${session.account}`, error)
      })
    const id = group.logGroupName ?? ''
    const shield = { because: 'shielded' as const, detail: 'its deletion protection is on' }
    return {
      id,
      uid: `${id}@${group.creationTime ?? ''}`,
      createdAt: group.creationTime,
      tags: tags ?? {},
      raw: group,
      facts: { name: id },
      shield: group.deletionProtectionEnabled ? shield : undefined,
    }
  },
  async use({ session }) {
    const lastEvents = new Map<string, number>()
    await askEach(await this.all(session), async ({ logGroupName = '' }) =>
      lastEvents.set(logGroupName, await lastEventOf(session, logGroupName)),
    )
    return ({ logGroupName = '', creationTime = 0 }) => {
      const last = Math.max(lastEvents.get(logGroupName) ?? session.now(), creationTime)
      if (session.now() - last < idleDays * 86_400_000) return used(`log events of the last ${idleDays} days`)
      return unused(`no log event arrived for ${Math.floor((session.now() - last) / 86_400_000)} days`, last)
    }
  },
  async remove(session, { logGroupName }) {
    const { sdk, client } = await logs(session)
    await client.send(new sdk.DeleteLogGroupCommand({ logGroupName }))
  },
})

/** Without the `:*` that older answers end with. */
function arnOf({ logGroupArn, arn }: LogGroup): string {
  return logGroupArn ?? arn?.replace(/:\*$/, '') ?? ''
}

/** When the last event arrived; 0 if none ever did. */
async function lastEventOf(session: AwsSession, logGroupName: string): Promise<number> {
  const { sdk, client } = await logs(session)
  try {
    const { logStreams } = await client.send(
      new sdk.DescribeLogStreamsCommand({ logGroupName, orderBy: 'LastEventTime', descending: true, limit: 1 }),
    )
    if (!logStreams) throw new Error('the response has no logStreams')
    const [{ lastEventTimestamp = 0, lastIngestionTime = 0 } = {}] = logStreams
    return Math.max(lastEventTimestamp, lastIngestionTime)
  } catch (error) {
    throw inventoryError(`log streams of ${session.account}`, error)
  }
}
