import type { StartOptions } from '../systems/activator/start-activator.ts'
import type { CleanerOptions } from '../systems/cleaner/controller.ts'
import type { CreateOptions as EnvironmentsOptions } from '../systems/environments/environments.ts'
import type { JanitorOptions } from '../systems/janitor/janitor.ts'
import type { PromoterOptions } from '../systems/promoter/controller.ts'
import type { ClustersPorts } from '../runtime/clusters/clusters.ts'

/** How systems reach the world outside their cluster. A missing port means the network; a forecast replaces them all. */
export interface ExternalPorts {
  readonly cleaner?: Pick<CleanerOptions, 'send'>
  readonly janitor?: Pick<JanitorOptions, 'openChannel' | 'wrapCloud' | 'withoutLeases'>
  readonly environments?: Pick<EnvironmentsOptions, 'openChannel' | 'http' | 'assumesPulls'>
  readonly promoter?: Pick<PromoterOptions, 'perform' | 'adjustTarget' | 'resync'>
  readonly activator?: Pick<StartOptions, 'plane' | 'scanMs'>
  readonly connectCluster?: ClustersPorts['connect']
}
