import { stringify } from 'yaml'
import { readConfig } from '../../app/config/config.ts'
import { flagsOf } from '../../app/config/flags.ts'
import { creatorAdmissions, installManifests, type CreatorAdmission } from '../../app/install/install.ts'
import { clusterRoles, tenantManifests } from '../../app/install/rbac.ts'
import { textFlag, UsageError, type Command } from '../terminal/command.ts'

const defaultImage = 'sojourn:latest'

/** Prints the manifests for a cluster. */
export const install: Command = {
  name: 'install',
  summary: 'Print CRDs, RBAC and workload manifests for a cluster',
  usage: '[tenant NAMESPACE] [flags]',
  help: `
Examples:
  sojourn install | kubectl apply --server-side -f -
  sojourn install --only cleaner,janitor --dry-run
  sojourn install --admission Webhook      # for Kubernetes 1.30 to 1.35
  sojourn install --dashboard               # with the web page, which is not installed otherwise
  sojourn install --crds-only
  sojourn install --separate-roles          # a Deployment and an account for each role
  sojourn install tenant team-a            # the right to act as the ServiceAccounts of team-a
  sojourn install tenant team-a --targets deployments.apps,configmaps   # there and for these only (Kubernetes 1.36)`,
  flags: flagsOf({
    only: 'ROLE,…: Install only these roles (default: all that run in a cluster, without the dashboard)',
    dashboard: 'Install the dashboard, too',
    image: `IMAGE: The container image (default: ${defaultImage})`,
    replicas: 'N: Replicas of each Deployment (default: 2)',
    'activator-namespace': 'NAME: Limit the activator to this namespace, with a Role in it (default: all namespaces)',
    'separate-roles':
      'A Deployment with its own ServiceAccount for each role (default: one for all roles, and one for the proxy)',
    admission: {
      type: 'string',
      value: 'HOW',
      help: 'What records the creators of objects: MAP (Kubernetes 1.36), Webhook (1.30) or Off (default: MAP)',
      completes: creatorAdmissions,
    },
    restorers:
      'USER,…: Users that restore backups: the records of creators that they bring along are kept (default: none)',
    targets:
      'PLURAL[.GROUP],…: Of a tenant: what its ServiceAccounts may be used for, by constrained impersonation (default: whatever they may do)',
    'record-secrets':
      'Keep the data of Secrets in records, encrypted with the keys in Secret sojourn-system/sojourn-record-keys',
    'dry-run': 'Install with --dry-run: make all decisions, delete nothing',
    'crds-only': 'Print only the CustomResourceDefinitions',
  }),
  words: { min: 0, max: 2 },
  run({ flags, words, io }) {
    const [what, namespace = '', ...more] = words
    if (what !== undefined) {
      if (what !== 'tenant' || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace) || more.length > 0)
        throw new UsageError('the only thing to install by name is a tenant: sojourn install tenant NAMESPACE')
      io.out(printed(tenantManifests(namespace, tenantTargets(textFlag(flags, 'targets') ?? ''))))
      return Promise.resolve()
    }
    const { only, dryRun } = readConfig({
      flags: { only: textFlag(flags, 'only'), 'dry-run': flags['dry-run'] === true ? true : undefined },
      env: {},
    })
    const replicas = Number(textFlag(flags, 'replicas') ?? 2)
    if (!Number.isInteger(replicas) || replicas < 0) throw new UsageError('--replicas must be a whole number')
    const activatorNamespace = textFlag(flags, 'activator-namespace')
    const named = new Set<string>(textFlag(flags, 'only') === undefined ? clusterRoles : only)
    if (flags['dashboard'] === true) named.add('dashboard')
    const manifests = installManifests({
      roles: [...clusterRoles, 'dashboard' as const].filter((role) => named.has(role)),
      image: textFlag(flags, 'image') ?? defaultImage,
      replicas,
      dryRun,
      recordSecrets: flags['record-secrets'] === true,
      separateRoles: flags['separate-roles'] === true,
      admission: admissionOf(textFlag(flags, 'admission')),
      restorers: restorersOf(textFlag(flags, 'restorers')),
      ...(activatorNamespace === undefined ? {} : { activatorNamespace }),
    })
    if (textFlag(flags, 'image') === undefined && !flags['crds-only'])
      io.err(
        `sojourn install: the manifests use the image ${defaultImage}: build it with deploy/Dockerfile, or set yours with --image\n`,
      )
    const shown = flags['crds-only'] ? manifests.filter(({ kind }) => kind === 'CustomResourceDefinition') : manifests
    io.out(printed(shown))
    return Promise.resolve()
  },
}

function printed(manifests: readonly object[]): string {
  return manifests
    .map((manifest) => `---\n${stringify(manifest, { aliasDuplicateObjects: false, lineWidth: 0 })}`)
    .join('')
}

function admissionOf(text: string | undefined): CreatorAdmission {
  const admission = creatorAdmissions.find((each) => each === (text ?? 'MAP'))
  if (!admission) throw new UsageError(`--admission must be one of ${creatorAdmissions.join(', ')}`)
  return admission
}

function restorersOf(text = ''): readonly string[] {
  const names = text.split(',').filter(Boolean)
  const odd = names.find((name) => !/^[-A-Za-z0-9:@._/#]+$/.test(name))
  if (odd !== undefined) throw new UsageError(`--restorers names ${JSON.stringify(odd)}, which is not a user name`)
  return names
}

/** `deployments.apps,configmaps` as the requests that controllers make. Helm hooks are created. */
function tenantTargets(text: string) {
  return text
    .split(',')
    .filter(Boolean)
    .map((entry) => {
      const [resource = '', ...group] = entry.trim().split('.')
      const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete']
      return { apiGroups: [group.join('.')], resources: [resource], verbs }
    })
}
