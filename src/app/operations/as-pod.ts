import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Client } from '../../client/client.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import { pods } from '../../kube/core-types.ts'
import type { Place } from '../../kube/object.ts'
import { apiAccess } from '../../workloads/node/api-access.ts'
import { containerEnvironment } from '../../workloads/node/container-environment.ts'
import type { Pod } from '../../workloads/types.ts'

export interface PodProgram {
  readonly pod: Place
  readonly command: readonly string[]
  readonly inherited: Readonly<Record<string, string | undefined>>
  /** Whether the token is also mounted where clients with in-cluster configuration look. */
  readonly mounts: boolean
  readonly signal: AbortSignal
}

/** Runs a program on this machine with the environment and the ServiceAccount token of a Pod's first container. Returns its exit code. */
export async function runAsPod(client: Client, program: PodProgram): Promise<number> {
  const pod = await client.get<Pod>(pods, program.pod)
  const directory = mkdtempSync(join(tmpdir(), 'sojourn-pod-'))
  try {
    const access = await apiAccess(client, pod, directory)
    if (!access.KUBECONFIG) throw new ConfigError(`Pod ${pod.metadata.name} has no token: automountServiceAccountToken`)
    const env = await containerEnvironment({
      client,
      pod,
      container: pod.spec.containers[0]!,
      ports: {},
      podIP: pod.status?.podIP ?? '',
      nodeName: pod.spec.nodeName ?? '',
      inherited: { ...program.inherited, ...access },
    })
    const mount = program.mounts ? await mountCommand(dirname(access.KUBECONFIG)) : []
    return await ended([...mount, ...program.command], env, program.signal)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The words before a program that make it see the folder as its token volume, in a mount namespace of its own. */
async function mountCommand(folder: string): Promise<readonly string[]> {
  mkdirSync(join(folder, 'run'))
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()]
  const unshare = ['unshare', ...(uid === 0 ? [] : ['--map-root-user']), '--mount']
  const command = [...unshare, 'sh', '-c', mountScript, 'sh', folder, String(uid), String(gid)]
  const [file = '', ...args] = command
  await promisify(execFile)(file, [...args, 'true']).catch(({ stderr, message }: Error & { stderr?: string }) => {
    throw new ConfigError(
      `the token cannot be mounted at /var/run/secrets/kubernetes.io/serviceaccount: ${(stderr || message).trim()}. ` +
        'That takes Linux with unshare, and user namespaces or root. Run it there, or with --no-mount if the program reads KUBECONFIG',
    )
  })
  return command
}

/**
 * Rebuilds /run from what is in it, where nobody else sees it, because only root can make a folder there; then gives the
 * program its user back.
 */
const mountScript = `set -e
folder=$1 uid=$2 gid=$3 run=$(readlink -f /var/run)
shift 3
mount -n -t tmpfs tmpfs "$folder/run"
for each in "$run"/*; do
  copy=$folder/run/\${each##*/}
  if [ -L "$each" ]; then cp -P "$each" "$copy"
  elif [ -d "$each" ]; then mkdir "$copy" && mount -n --rbind "$each" "$copy"
  elif [ -e "$each" ]; then : > "$copy" && mount -n --bind "$each" "$copy"
  fi
done
mount -n --rbind "$folder/run" "$run"
[ ! -d "$run/secrets" ] || mount -n -t tmpfs tmpfs "$run/secrets"
mkdir -p "$run/secrets/kubernetes.io"
ln -s "$folder" "$run/secrets/kubernetes.io/serviceaccount"
[ "$uid" = 0 ] || exec unshare --map-user="$uid" --map-group="$gid" "$@"
exec "$@"`

/** Runs a program to its end. A terminal's SIGINT reaches it without help, and a second one would end some programs at once. */
function ended([file = '', ...args]: readonly string[], env: Readonly<Record<string, string>>, signal: AbortSignal) {
  const child = spawn(file, args, { env, stdio: 'inherit' })
  const stop = () => {
    const { message } = signal.reason as Error
    if (message !== 'SIGINT' || !process.stdin.isTTY) child.kill('SIGTERM')
  }
  signal.addEventListener('abort', stop, { once: true })
  return new Promise<number>((resolve, reject) => {
    child.on('error', (cause) => reject(new ConfigError(`${file} cannot be started: ${cause.message}`, { cause })))
    child.on('exit', (code) => resolve(code ?? 1))
  })
}
