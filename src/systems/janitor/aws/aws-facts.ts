import type { Use } from '../model/resource.ts'
import type { AwsResource, AwsType } from './read/aws-type.ts'

/** The properties that Swabbie's rules and exclusions read: AWS fields in camel case, and flags of use. */
export function awsFacts(
  { name: type }: AwsType,
  { raw, facts = {}, id }: AwsResource,
  use: Use,
): Readonly<Record<string, unknown>> {
  return { ...camelCased(raw), resourceId: id, ...flags(type, use), ...facts }
}

/** The flags that Swabbie's detectors set. Unknown use sets none, so that no rule matches. */
function flags(type: string, use: Use): Readonly<Record<string, unknown>> {
  if (use.state === 'unknown') return {}
  const isUsed = use.state === 'used'
  const isUsedBy = (userType: string) => isUsed && use.by.split(', ').some((user) => user.startsWith(`${userType} `))
  switch (type) {
    case 'image':
      return {
        usedByInstances: isUsedBy('instance'),
        usedByLaunchConfigurations: isUsedBy('launch configuration'),
        usedByLaunchTemplates: isUsedBy('launch template'),
      }
    case 'snapshot':
      // Swabbie's rules read `imageExists` as "in use"; a launch template uses a snapshot as an image does.
      return { imageExists: isUsed }
    case 'launchConfiguration':
    case 'launchTemplate':
      return { isUsedByServerGroups: isUsed }
    case 'loadBalancer':
    case 'loadBalancerV2':
      return { isAttachedToServerGroups: isUsed }
    default:
      return { isInUse: isUsed }
  }
}

function camelCased(raw: unknown): Readonly<Record<string, unknown>> {
  if (typeof raw !== 'object' || raw === null) return {}
  return Object.fromEntries(
    Object.entries(raw).map(([key, value]) => [key.charAt(0).toLowerCase() + key.slice(1), value]),
  )
}
