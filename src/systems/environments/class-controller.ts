import { environmentClass as classKind, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment as environmentKind, type Environment } from '../../apis/environment.ts'
import type { Client } from '../../client/client.ts'
import { healthStatus } from '../../kube/conditions.ts'
import { namespaces } from '../../kube/core-types.ts'
import { keyOf } from '../../kube/key.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { matches } from '../../kube/selector.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { readClass } from './decision/rules.ts'

export interface ClassOptions {
  readonly client: Client
  readonly informers: Informers
  readonly ports: ControllerPorts
}

/** Counts are collected for this long: a hundred new environments are one write. */
const pauseMs = 2000

/** Reports on each EnvironmentClass: how many environments it has, and what is wrong with it. */
export function classController({ client, informers, ports }: ClassOptions): Controller {
  const classes = informers.open<EnvironmentClass>(client, classKind.type)
  const environments = informers.open<Environment>(client, environmentKind.type, {
    indexes: { class: ({ spec }) => [spec.className] },
  })
  const homes = informers.open(client, namespaces)
  const controller = new Controller({ name: 'environment-classes', reconcile, ports, concurrency: 1 })
  const writtenAt = new Map<string, number>()
  controller.watch(classes)
  controller.watch(environments, ({ object }) =>
    classes.get('', object.spec.className) ? [keyOf({ ...classKind, name: object.spec.className })] : [],
  )
  return controller

  async function reconcile({ name }: { readonly name: string }): Promise<Outcome> {
    const self = classes.get('', name)
    if (!self || self.metadata.deletionTimestamp || !environments.synced || !homes.synced) return settled
    const now = ports.clock.now()
    const restUntil = (writtenAt.get(name) ?? 0) + pauseMs
    if (now < restUntil) return wakeAt(restUntil)
    const { problems } = readClass(self.spec)
    const rivals = rivalsOf(self)
    const health =
      problems.length > 0
        ? ({
            health: 'stalled',
            reason: 'InvalidSpec',
            message: problems.map(({ field, message }) => `${field}: ${message}`).join('; '),
          } as const)
        : ({
            health: 'ready',
            reason: rivals.length > 0 ? 'Overlapping' : 'InForce',
            message:
              rivals.length > 0
                ? `the older class decides for Namespaces that it and ${rivals.join(', ')} both select`
                : 'its environments follow it',
          } as const)
    const count = environments.byIndex('class', name).filter(({ status }) => !status?.deletion).length
    const status = { ...self.status, environments: count, ...healthStatus(self, health, now) }
    if (deepEqual(self.status ?? {}, status)) return settled
    writtenAt.set(name, now)
    const written = await client.update<EnvironmentClass>(
      classKind.type,
      { ...self, status },
      { subresource: 'status' },
    )
    controller.expect(keyOf(written), written.metadata.resourceVersion)
    return settled
  }

  function rivalsOf(self: EnvironmentClass): readonly string[] {
    const selected = homes
      .list()
      .filter(({ metadata }) => matches(readClass(self.spec).rules.selector, metadata.labels))
    return classes
      .list()
      .filter(({ metadata, spec }) => {
        const { selector } = readClass(spec).rules
        return metadata.name !== self.metadata.name && selected.some((home) => matches(selector, home.metadata.labels))
      })
      .map(({ metadata }) => metadata.name)
  }
}
