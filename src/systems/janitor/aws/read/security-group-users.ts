import { inventoryError, requireItems } from './listing.ts'
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

const readers: Readonly<Record<string, (session: AwsSession) => AsyncIterable<GroupUse>>> = {
  async *Lambda(session) {
    const { LambdaClient, paginateListFunctions } = await import('@aws-sdk/client-lambda')
    for await (const { Functions } of paginateListFunctions({ client: session.client(LambdaClient) }, {}))
      for (const { VpcConfig, FunctionName } of requireItems(Functions))
        yield { groups: VpcConfig?.SecurityGroupIds ?? [], by: `Lambda function ${FunctionName}` }
  },

  async *CodeBuild(session) {
    const { BatchGetProjectsCommand, CodeBuildClient, paginateListProjects } = await import('@aws-sdk/client-codebuild')
    const client = session.client(CodeBuildClient)
    for await (const { projects: found } of paginateListProjects({ client }, {})) {
      const names = [...requireItems(found)]
      if (names.length === 0) continue
      const { projects } = await client.send(new BatchGetProjectsCommand({ names }))
      for (const { vpcConfig, name } of requireItems(projects))
        yield { groups: vpcConfig?.securityGroupIds ?? [], by: `CodeBuild project ${name}` }
    }
  },

  async *Batch(session) {
    const { BatchClient, paginateDescribeComputeEnvironments } = await import('@aws-sdk/client-batch')
    for await (const page of paginateDescribeComputeEnvironments({ client: session.client(BatchClient) }, {}))
      for (const { computeResources, computeEnvironmentName } of requireItems(page.computeEnvironments))
        yield { groups: computeResources?.securityGroupIds ?? [], by: `Batch environment ${computeEnvironmentName}` }
  },

  async *'event rules'(session) {
    const { EventBridgeClient, ListEventBusesCommand, ListRulesCommand, ListTargetsByRuleCommand } =
      await import('@aws-sdk/client-eventbridge')
    const client = session.client(EventBridgeClient)
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
