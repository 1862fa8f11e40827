import { ownCommit, ownVersion, supportedKubernetes } from '../../app/config/version.ts'
import { readFlags, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { print } from '../terminal/output.ts'
import { checkVersions } from '../terminal/same-version.ts'

const { output, kubeconfig, context } = readFlags

/** Prints what this program is, and with --server what it talks to. */
export const version: Command = {
  name: 'version',
  summary: 'Print the version, the commit and the supported Kubernetes versions',
  usage: '[flags]',
  help: `
Examples:
  sojourn version
  sojourn version -o json
  sojourn version --server        fails if the cluster does not serve Sojourn's kinds`,
  flags: {
    output,
    server: { type: 'boolean', help: "Ask the cluster, too; fails if it does not serve Sojourn's kinds" },
    kubeconfig,
    context,
  },
  async run(call) {
    const { oldest, newest } = supportedKubernetes
    const own = {
      version: ownVersion(),
      commit: ownCommit(),
      node: process.version,
      kubernetes: `${oldest} to ${newest}`,
    }
    const server = call.flags['server'] === true ? await serverVersion(call) : undefined
    print(call, { ...own, ...(server === undefined ? {} : { server }) }, () => {
      const line = `sojourn ${own.version} (commit ${own.commit}, Node ${own.node}, Kubernetes ${own.kubernetes})`
      return server === undefined ? line : `${line}\nserver: Kubernetes ${server}`
    })
  },
}

async function serverVersion(call: Parameters<Command['run']>[0]): Promise<string> {
  using connection = connect(call)
  await checkVersions(connection, call.io)
  const { body } = await connection.client.request({ method: 'GET', path: '/version' })
  return String((body as { gitVersion?: string }).gitVersion)
}
