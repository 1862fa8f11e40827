import type * as AutoScaling from '@aws-sdk/client-auto-scaling'
import type * as Ec2 from '@aws-sdk/client-ec2'
import type * as Elb from '@aws-sdk/client-elastic-load-balancing'
import type * as ElbV2 from '@aws-sdk/client-elastic-load-balancing-v2'
import type * as Sts from '@aws-sdk/client-sts'
import { ConfigError } from '../../../client/cluster-config.ts'

/** The parts of the AWS SDK we use. They are large, so they are there only for those who have an AWS account. */
export interface Sdk {
  readonly ec2: typeof Ec2
  readonly autoScaling: typeof AutoScaling
  readonly elb: typeof Elb
  readonly elbV2: typeof ElbV2
  readonly sts: typeof Sts
}

let loading: Promise<Sdk> | undefined

/** Loads the SDK when the first account asks for it; says how to get it when it is not there. */
export function loadSdk(): Promise<Sdk> {
  return (loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw new ConfigError(
      'AWS accounts need the AWS SDK: npm install @aws-sdk/client-ec2 @aws-sdk/client-auto-scaling @aws-sdk/client-elastic-load-balancing @aws-sdk/client-elastic-load-balancing-v2 @aws-sdk/client-sts',
      { cause: error },
    )
  }))
}

async function load(): Promise<Sdk> {
  const [ec2, autoScaling, elb, elbV2, sts] = await Promise.all([
    import('@aws-sdk/client-ec2'),
    import('@aws-sdk/client-auto-scaling'),
    import('@aws-sdk/client-elastic-load-balancing'),
    import('@aws-sdk/client-elastic-load-balancing-v2'),
    import('@aws-sdk/client-sts'),
  ])
  return { ec2, autoScaling, elb, elbV2, sts }
}
