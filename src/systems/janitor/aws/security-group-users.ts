import { inventoryError } from './listing.ts'
import type { AwsSession } from './session.ts'

/** Security groups that a service will use when it next starts something. */
export interface GroupUse {
  readonly groups: readonly string[]
  readonly by: string
}

/**
 * What Lambda functions, CodeBuild projects, Batch environments and ECS targets of event rules name: between two runs nothing
 * else shows it. Without their SDKs it cannot be known, and then no group counts as unused.
 */
export async function outsideGroups(session: AwsSession): Promise<readonly GroupUse[]> {
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
  async *Lambda({ config }) {
    const { LambdaClient, paginateListFunctions } = await import('@aws-sdk/client-lambda')
    const client = new LambdaClient(config)
    try {
      for await (const { Functions = [] } of paginateListFunctions({ client }, {}))
        for (const { VpcConfig, FunctionName } of Functions)
          yield { groups: VpcConfig?.SecurityGroupIds ?? [], by: `Lambda function ${FunctionName}` }
    } finally {
      client.destroy()
    }
  },

  async *CodeBuild({ config }) {
    const { BatchGetProjectsCommand, CodeBuildClient, paginateListProjects } = await import('@aws-sdk/client-codebuild')
    const client = new CodeBuildClient(config)
    try {
      for await (const { projects: names = [] } of paginateListProjects({ client }, {})) {
        if (names.length === 0) continue
        const { projects = [] } = await client.send(new BatchGetProjectsCommand({ names }))
        for (const { vpcConfig, name } of projects)
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
      for await (const { computeEnvironments = [] } of paginateDescribeComputeEnvironments({ client }, {}))
        for (const { computeResources, computeEnvironmentName } of computeEnvironments)
          yield { groups: computeResources?.securityGroupIds ?? [], by: `Batch environment ${computeEnvironmentName}` }
    } finally {
      client.destroy()
    }
  },

  async *'event rules'({ config }) {
    const { EventBridgeClient, ListRulesCommand, ListTargetsByRuleCommand } =
      await import('@aws-sdk/client-eventbridge')
    const client = new EventBridgeClient(config)
    try {
      for (let NextToken: string | undefined, more = true; more; more = NextToken !== undefined) {
        const page = await client.send(new ListRulesCommand(NextToken ? { NextToken } : {}))
        NextToken = page.NextToken
        for (const { Name } of page.Rules ?? []) {
          const { Targets = [] } = await client.send(new ListTargetsByRuleCommand({ Rule: Name }))
          for (const { EcsParameters } of Targets)
            yield {
              groups: EcsParameters?.NetworkConfiguration?.awsvpcConfiguration?.SecurityGroups ?? [],
              by: `event rule ${Name}`,
            }
        }
      }
    } finally {
      client.destroy()
    }
  },
}
