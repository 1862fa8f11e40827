// node scripts/reference-cluster/main.ts [CONTROLLER…]: a cluster to try things on by hand, until ctrl-C.
import { once } from 'node:events'
import { Unavailable } from './go-build.ts'
import { startReferenceCluster } from './reference-cluster.ts'
import { toolsDirectory } from './tools.ts'

const controllers = process.argv.slice(2)
try {
  await using cluster = await startReferenceCluster(
    controllers.length > 0 ? { controllerManager: { controllers } } : {},
  )
  console.log(`export KUBECONFIG=${cluster.kubeconfig}`)
  console.log(`export PATH=${toolsDirectory}:$PATH`)
  console.error(`ready at ${cluster.url}, pids ${JSON.stringify(cluster.pids)}; ctrl-C ends it`)
  const staying = setInterval(() => {}, 60_000)
  await Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)))
  clearInterval(staying)
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.error(error.message)
  process.exitCode = 1
}
