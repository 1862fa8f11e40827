import { readFlags, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'

const { namespace, kubeconfig, context } = readFlags

/** Runs a program on this machine as a Pod. */
export const asPod: Command = {
  name: 'as-pod',
  summary: 'Run a program on this machine as a Pod, with its ServiceAccount',
  usage: 'POD [flags] -- PROGRAM [ARG…]',
  help: `
For an operator in development: install its manifests, then run its program in the place of the Pod that is only simulated. It gets
the environment variables of the Pod's first container, the token of the ServiceAccount in KUBECONFIG, and the token where clients with
in-cluster configuration look for it, /var/run/secrets/kubernetes.io/serviceaccount. Nothing else is isolated. It ends with the program's exit code.

Examples:
  sojourn as-pod my-operator-6d9f7 -n operators -- ./bin/manager --leader-elect
  sojourn as-pod my-operator-6d9f7 -n operators --no-mount -- npm start`,
  flags: {
    namespace,
    kubeconfig,
    context,
    mount: {
      type: 'boolean',
      help: 'Mount the token (default); --no-mount where that is not possible, such as on macOS',
    },
  },
  words: { min: 2, max: Infinity },
  async run(call) {
    using connection = connect(call)
    const [name = '', ...command] = call.words
    const { runAsPod } = await import('../../app/operations/as-pod.ts')
    return runAsPod(connection.client, {
      pod: { namespace: connection.namespace ?? 'default', name },
      command,
      inherited: call.io.env,
      mounts: call.flags.mount !== false,
      signal: call.io.signal,
    })
  },
}
