import { join } from 'node:path'
import { credentialFiles } from './credentials.ts'

type Place = { readonly directory: string; readonly port: number }

export function etcdFlags({
  directory,
  port,
  peerPort,
  durable,
}: Place & { readonly peerPort: number; readonly durable: boolean }): string[] {
  const url = `http://127.0.0.1:${port}`
  const peerUrl = `http://127.0.0.1:${peerPort}`
  return [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    // The default of 2 GiB is too little for benchmarks that rewrite many objects.
    `--quota-backend-bytes=${8 * 1024 ** 3}`,
    ...(durable ? [] : ['--unsafe-no-fsync']),
  ]
}

export function apiServerFlags({ directory, port, etcdPort }: Place & { readonly etcdPort: number }): string[] {
  const { serviceAccountKey, tokens } = credentialFiles(directory)
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--advertise-address=127.0.0.1',
    // It would publish the advertised address, and loopback is not a legal endpoint.
    '--endpoint-reconciler-type=none',
    `--cert-dir=${directory}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${serviceAccountKey}`,
    `--service-account-signing-key-file=${serviceAccountKey}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=RBAC',
    `--token-auth-file=${tokens}`,
    '--allow-privileged=true',
  ]
}

export function controllerManagerFlags({
  directory,
  port,
  controllers,
}: Place & { readonly controllers: readonly string[] }): string[] {
  const { serviceAccountKey, servingCertificate, kubeconfig } = credentialFiles(directory)
  return [
    `--controllers=${controllers.join(',')}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${join(directory, 'controller-manager')}`,
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--use-service-account-credentials',
    `--service-account-private-key-file=${serviceAccountKey}`,
    `--root-ca-file=${servingCertificate}`,
  ]
}
