import type * as AutoScaling from '@aws-sdk/client-auto-scaling'
import type * as Ec2 from '@aws-sdk/client-ec2'
import type * as Elb from '@aws-sdk/client-elastic-load-balancing'
import type * as ElbV2 from '@aws-sdk/client-elastic-load-balancing-v2'
import type * as Sts from '@aws-sdk/client-sts'
import { ConfigError } from '../../../../client/cluster-config.ts'

/** The parts of the AWS SDK that the janitor uses. They are large, so they are loaded with the first ProviderAccount. */
export interface Sdk {
  readonly ec2: typeof Ec2
  readonly autoScaling: typeof AutoScaling
  readonly elb: typeof Elb
  readonly elbV2: typeof ElbV2
  readonly sts: typeof Sts
}

let loading: Promise<Sdk> | undefined

/** Loads the SDK once. The error names the package that the installation lacks. */
export function loadSdk(): Promise<Sdk> {
  return (loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw new ConfigError(`AWS accounts need the AWS SDK: ${(error as Error).message}`, { cause: error })
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
