import type { AwsTypeName } from '../../../apis/cleanup-policy.ts'
import type { AwsType } from './read/aws-type.ts'
import { dbInstanceType, dbSnapshotType } from './types/database.ts'
import { ecrImageType } from './types/ecr-image.ts'
import { imageType } from './types/image.ts'
import { launchConfigurationType, launchTemplateType } from './types/launch.ts'
import { loadBalancerType, loadBalancerV2Type } from './types/load-balancer.ts'
import { logGroupType } from './types/log-group.ts'
import { elasticIpType, natGatewayType, networkInterfaceType } from './types/network.ts'
import { securityGroupType } from './types/security-group.ts'
import { serverGroupType } from './types/server-group.ts'
import { snapshotType } from './types/snapshot.ts'
import { volumeType } from './types/volume.ts'

/** All types of cloud resources, by name. */
export const awsTypes: Readonly<Record<AwsTypeName, AwsType>> = {
  image: imageType,
  snapshot: snapshotType,
  serverGroup: serverGroupType,
  launchConfiguration: launchConfigurationType,
  launchTemplate: launchTemplateType,
  loadBalancer: loadBalancerType,
  loadBalancerV2: loadBalancerV2Type,
  securityGroup: securityGroupType,
  volume: volumeType,
  elasticIp: elasticIpType,
  natGateway: natGatewayType,
  networkInterface: networkInterfaceType,
  dbInstance: dbInstanceType,
  dbSnapshot: dbSnapshotType,
  logGroup: logGroupType,
  ecrImage: ecrImageType,
}
