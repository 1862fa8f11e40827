import { replicaSets, replicationControllers } from '../../kube/core-types.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import { cronJobController } from './cron-jobs.ts'
import { daemonSetController } from './daemon-sets.ts'
import { deploymentController } from './deployments.ts'
import { disruptionBudgetController } from './disruption-budgets.ts'
import { endpointsController } from './endpoints.ts'
import { jobController } from './jobs.ts'
import type { WorkloadPorts } from '../ports.ts'
import { replicaController } from './replica-sets.ts'
import { statefulSetController } from './stateful-sets.ts'

/** The controllers that turn workload objects into Pods. `LocalNode` runs the Pods. */
export function workloadControllers(ports: WorkloadPorts): readonly Controller[] {
  return [
    deploymentController(ports),
    replicaController(replicaSets, ports),
    replicaController(replicationControllers, ports),
    statefulSetController(ports),
    daemonSetController(ports),
    jobController(ports),
    cronJobController(ports),
    endpointsController(ports),
    disruptionBudgetController(ports),
  ]
}
