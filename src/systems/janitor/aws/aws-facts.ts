import type { Use } from '../model/resource.ts'
import type { AwsResource, AwsType } from './read/aws-type.ts'

/** A resource in the words of Swabbie's rules and exclusions: AWS fields camel-cased, and flags both true and false. */
export function awsFacts(
  { name: type }: AwsType,
  { raw, facts = {}, id }: AwsResource,
  use: Use,
): Readonly<Record<string, unknown>> {
  return { ...camelCased(raw), resourceId: id, ...flags(type, use), ...facts }
}

/** What Swabbie's detectors set; unknown use leaves a flag out, so that no rule can match it. */
function flags(type: string, use: Use): Readonly<Record<string, unknown>> {
  if (use.state === 'unknown') return {}
  const isUsed = use.state === 'used'
  const isUsedBy = (sort: string) => isUsed && use.by.split(', ').some((user) => user.startsWith(`${sort} `))
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
