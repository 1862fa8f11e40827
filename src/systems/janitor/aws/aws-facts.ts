import type { Use } from '../resource.ts'
import type { AwsThing, AwsType } from './aws-type.ts'

/** A resource in the words of Swabbie's rules and exclusions: AWS fields camel-cased, and flags both true and false. */
export function awsFacts(
  { name: type }: AwsType,
  { raw, facts = {}, id }: AwsThing,
  use: Use,
): Readonly<Record<string, unknown>> {
  return { ...camelCased(raw), resourceId: id, ...flags(type, use), ...facts }
}

/** What Swabbie's detectors set; unknown use leaves a flag out, so that no rule can match it. */
function flags(type: string, use: Use): Readonly<Record<string, unknown>> {
  if (use.state === 'unknown') return {}
  const isUsed = use.state === 'used'
  switch (type) {
    case 'image':
      return {
        usedByInstances: isUsed && use.by.startsWith('instance'),
        usedByLaunchConfigurations: isUsed && use.by.startsWith('launch configuration'),
        usedByLaunchTemplates: isUsed && use.by.startsWith('launch template'),
      }
    case 'snapshot':
      return { imageExists: isUsed && use.by.startsWith('image') }
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
