import { stringify } from 'yaml'
import { readConfig, roles } from '../../app/config/config.ts'
import { installManifests } from '../../app/install/install.ts'
import { textFlag, UsageError, type Command } from '../terminal/command.ts'

const defaultImage = 'sojourn:latest'

/** Prints the manifests for a cluster. */
export const install: Command = {
  name: 'install',
  summary: 'Print CRDs, RBAC and workload manifests for a cluster',
  usage: '[flags]',
  help: `
Examples:
  sojourn install | kubectl apply --server-side -f -
  sojourn install --only cleaner,janitor --dry-run
  sojourn install --crds-only`,
  flags: {
    only: { type: 'string', value: 'ROLE,…', help: 'Install only these roles (default: all that run in a cluster)' },
    image: { type: 'string', value: 'IMAGE', help: `The container image (default: ${defaultImage})` },
    replicas: { type: 'string', value: 'N', help: 'Replicas of each Deployment (default: 2)' },
    'activator-namespace': {
      type: 'string',
      value: 'NAME',
      help: 'Limit the activator to this namespace, with a Role in it (default: all namespaces)',
    },
    'dry-run': { type: 'boolean', help: 'Install with --dry-run: make all decisions, delete nothing' },
    'crds-only': { type: 'boolean', help: 'Print only the CustomResourceDefinitions' },
  },
  run({ flags, io }) {
    const { only, dryRun } = readConfig({
      flags: { only: textFlag(flags, 'only'), 'dry-run': flags['dry-run'] === true ? true : undefined },
      env: {},
    })
    const replicas = Number(textFlag(flags, 'replicas') ?? 2)
    if (!Number.isInteger(replicas) || replicas < 0) throw new UsageError('--replicas must be a whole number')
    const activatorNamespace = textFlag(flags, 'activator-namespace')
    const embedded = new Set<string>(['api', 'workloads'])
    const manifests = installManifests({
      roles: (only.length > 0 ? only : roles).filter((role) => !embedded.has(role)),
      image: textFlag(flags, 'image') ?? defaultImage,
      replicas,
      dryRun,
      ...(activatorNamespace === undefined ? {} : { activatorNamespace }),
    })
    if (textFlag(flags, 'image') === undefined && !flags['crds-only'])
      io.err(
        `sojourn install: the manifests use the image ${defaultImage}: build it with deploy/Dockerfile, or set yours with --image\n`,
      )
    const shown = flags['crds-only'] ? manifests.filter(({ kind }) => kind === 'CustomResourceDefinition') : manifests
    io.out(
      shown.map((manifest) => `---\n${stringify(manifest, { aliasDuplicateObjects: false, lineWidth: 0 })}`).join(''),
    )
    return Promise.resolve()
  },
}
