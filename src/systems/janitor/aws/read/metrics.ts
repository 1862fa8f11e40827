import { dateOf } from '../../../../kube/time.ts'
import { inventoryError } from './listing.ts'
import type { AwsSession } from './session.ts'

/** A metric that is zero while a resource is idle. */
export interface IdleMetric {
  readonly namespace: string
  readonly metric: string
  readonly dimension: string
}

/** How far back metrics are read. CloudWatch keeps them longer. */
export const idleDays = 14
const dayMs = 86_400_000

/** The largest daily value of a metric in the last two weeks, and since when CloudWatch has values, by the id of the resource. No entry: no values. */
export async function largestValues(
  session: AwsSession,
  { namespace, metric, dimension }: IdleMetric,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly largest: number; readonly since: number }>> {
  const { CloudWatchClient, GetMetricDataCommand } = await import('@aws-sdk/client-cloudwatch')
  const client = session.client(CloudWatchClient)
  const found = new Map<string, { largest: number; since: number }>()
  const range = { StartTime: dateOf(session.now() - idleDays * dayMs), EndTime: dateOf(session.now()) }
  try {
    for (let start = 0; start < ids.length; start += maxQueries) {
      const part = ids.slice(start, start + maxQueries)
      const MetricDataQueries = part.map((id, index) => ({
        Id: `m${index}`,
        MetricStat: {
          Stat: 'Maximum',
          Period: 86_400,
          Metric: { Namespace: namespace, MetricName: metric, Dimensions: [{ Name: dimension, Value: id }] },
        },
      }))
      let NextToken: string | undefined
      do {
        const page = await client.send(new GetMetricDataCommand({ ...range, MetricDataQueries, NextToken }))
        if (!page.MetricDataResults) throw new Error('the response has no MetricDataResults')
        for (const { Id = '', Values = [], Timestamps = [] } of page.MetricDataResults) {
          const id = part[Number(Id.slice(1))]
          if (id === undefined || Values.length === 0) continue
          const former = found.get(id) ?? { largest: 0, since: Infinity }
          found.set(id, {
            largest: Math.max(former.largest, ...Values),
            since: Math.min(former.since, ...Timestamps.map((time) => time.getTime())),
          })
        }
        NextToken = page.NextToken
      } while (NextToken !== undefined)
    }
  } catch (error) {
    throw inventoryError(`metrics of ${session.account}`, error)
  }
  return found
}

const maxQueries = 500
