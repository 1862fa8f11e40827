import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The definitions of deployment tools as they ship them, by Go module: what the guide shows must be what they take. */
const modules: Readonly<Record<string, readonly string[]>> = {
  'github.com/argoproj/argo-cd/v3@v3.5.7': [
    'manifests/crds/application-crd.yaml',
    'manifests/crds/applicationset-crd.yaml',
  ],
  'github.com/controlplaneio-fluxcd/flux-operator@v0.56.0': [
    'config/crd/bases/fluxcd.controlplane.io_resourcesets.yaml',
    'config/crd/bases/fluxcd.controlplane.io_resourcesetinputproviders.yaml',
  ],
  'github.com/fluxcd/kustomize-controller@v1.9.5': ['config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml'],
}

/** Paths of the definitions, downloaded once; a sentence where that cannot be. */
export async function toolDefinitions(): Promise<readonly string[] | string> {
  const paths: string[] = []
  for (const [module, files] of Object.entries(modules)) {
    const asked = ['mod', 'download', '-json', module]
    const found = await run('go', asked, { cwd: tmpdir() }).catch((error: unknown) => String(error).slice(0, 300))
    if (typeof found === 'string') return `${module} cannot be downloaded: ${found}`
    const { Dir } = JSON.parse(found.stdout) as { Dir: string }
    paths.push(...files.map((file) => join(Dir, file)))
  }
  return paths
}
