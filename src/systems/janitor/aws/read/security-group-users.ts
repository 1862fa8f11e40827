import { inventoryError } from './listing.ts'
import type { AwsSession } from './session.ts'

/** Security groups that a service will use for its next run. */
export interface GroupUse {
  readonly groups: readonly string[]
  readonly by: string
}

/**
 * The groups that Lambda functions, CodeBuild projects, Batch environments and ECS targets of event rules name: between two
 * runs they have no network interface. Throws when a service cannot be read; no group then counts as unused.
 */
export async function groupsOfServices(session: AwsSession): Promise<readonly GroupUse[]> {
  const uses: GroupUse[] = []
  for (const [what, read] of Object.entries(readers)) {
    try {
      for await (const use of read(session)) uses.push(use)
    } catch (error) {
      throw inventoryError(`security groups used by ${what} in ${session.account}`, error)
    }
  }
  return uses
}

/** Throws for a page without items: the listing would be incomplete. */
function requireItems<T>(items: readonly T[] | undefined): readonly T[] {
  if (!items) throw new Error('a page of the response has no items')
  return items
}

const readers: Readonly<Record<string, (session: AwsSession) => AsyncIterable<GroupUse>>> = {
  async *Lambda({ config }) {
    const { LambdaClient, paginateListFunctions } = await import('@aws-sdk/client-lambda')
    const client = new LambdaClient(config)
    try {
      for await (const { Functions } of paginateListFunctions({ client }, {}))
        for (const { VpcConfig, FunctionName } of requireItems(Functions))
          yield { groups: VpcConfig?.SecurityGroupIds ?? [], by: `Lambda function ${FunctionName}` }
    } finally {
      client.destroy()
    }
  },

  async *CodeBuild({ config }) {
    const { BatchGetProjectsCommand, CodeBuildClient, paginateListProjects } = await import('@aws-sdk/client-codebuild')
    const client = new CodeBuildClient(config)
    try {
      for await (const { projects: found } of paginateListProjects({ client }, {})) {
        const names = [...requireItems(found)]
        if (names.length === 0) continue
        const { projects } = await client.send(new BatchGetProjectsCommand({ names }))
        for (const { vpcConfig, name } of requireItems(projects))
          yield { groups: vpcConfig?.securityGroupIds ?? [], by: `CodeBuild project ${name}` }
      }
    } finally {
      client.destroy()
    }
  },

  async *Batch({ config }) {
    const { BatchClient, paginateDescribeComputeEnvironments } = await import('@aws-sdk/client-batch')
    const client = new BatchClient(config)
    try {
      for await (const { computeEnvironments } of paginateDescribeComputeEnvironments({ client }, {}))
        for (const { computeResources, computeEnvironmentName } of requireItems(computeEnvironments))
          yield { groups: computeResources?.securityGroupIds ?? [], by: `Batch environment ${computeEnvironmentName}` }
    } finally {
      client.destroy()
    }
  },

  async *'event rules'({ config }) {
    const { EventBridgeClient, ListEventBusesCommand, ListRulesCommand, ListTargetsByRuleCommand } =
      await import('@aws-sdk/client-eventbridge')
    const client = new EventBridgeClient(config)
    try {
      const buses = paged(
        (token) => client.send(new ListEventBusesCommand(token)),
        ({ EventBuses }) => EventBuses,
      )
      for await (const { Name: EventBusName } of buses) {
        const rules = paged(
          (token) => client.send(new ListRulesCommand({ EventBusName, ...token })),
          ({ Rules }) => Rules,
        )
        for await (const { Name: Rule } of rules) {
          const targets = paged(
            (token) => client.send(new ListTargetsByRuleCommand({ EventBusName, Rule, ...token })),
            ({ Targets }) => Targets,
          )
          for await (const { EcsParameters } of targets)
            yield {
              groups: EcsParameters?.NetworkConfiguration?.awsvpcConfiguration?.SecurityGroups ?? [],
              by: `event rule ${Rule}`,
            }
        }
      }
    } finally {
      client.destroy()
    }
  },
}

/** The items of every page; the SDK has no paginators for EventBridge. */
async function* paged<Page extends { readonly NextToken?: string | undefined }, Item>(
  ask: (token: { readonly NextToken?: string }) => Promise<Page>,
  items: (page: Page) => readonly Item[] | undefined,
): AsyncGenerator<Item> {
  let token: string | undefined
  do {
    const page = await ask(token === undefined ? {} : { NextToken: token })
    yield* requireItems(items(page))
    token = page.NextToken
  } while (token !== undefined)
}
