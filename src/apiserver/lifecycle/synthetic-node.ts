import type { KubeObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import { versionInfo } from '../http/health.ts'

/** A Ready Node for clients that expect a cluster to have nodes. */
export function syntheticNode(name: string, now: number): KubeObject {
  const time = formatTime(now)
  const resources = { cpu: '8', memory: '16Gi', pods: '1000', 'ephemeral-storage': '100Gi' }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'node-role.kubernetes.io/control-plane': '',
      },
    },
    spec: {},
    status: {
      capacity: resources,
      allocatable: resources,
      addresses: [
        { type: 'InternalIP', address: '127.0.0.1' },
        { type: 'Hostname', address: name },
      ],
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'SyntheticNode',
          message: 'this node stands for the machine the server runs on',
          lastHeartbeatTime: time,
          lastTransitionTime: time,
        },
      ],
      nodeInfo: {
        architecture: 'amd64',
        bootID: '',
        containerRuntimeVersion: 'process://1',
        kernelVersion: '',
        kubeProxyVersion: '',
        kubeletVersion: versionInfo()['gitVersion'],
        machineID: '',
        operatingSystem: 'linux',
        osImage: 'sojourn',
        systemUUID: '',
      },
    },
  }
}
