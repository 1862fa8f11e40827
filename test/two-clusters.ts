import { namespaces } from '../src/kube/core-types.ts'
import { Cascades, type CascadeOptions } from './cascades.ts'
import { bond, grantAnnotation, inUseAnnotation, type Bond } from '../src/apis/bond.ts'
import { Client } from '../src/client/client.ts'
import type { StoredObject } from '../src/kube/object.ts'
import type { ApiRequest } from '../src/kube/transport.ts'
import { bondController } from '../src/systems/collector/bonds/bond-controller.ts'

const end = { apiVersion: 'v1', kind: 'ConfigMap' }
/** What Bonds of the near cluster need. */
export const database = { ...end, cluster: 'far', namespace: 'team', name: 'database' }

/** A cluster with an app and Bonds, and another with the database that the app needs, and leave to hold it. */
export class TwoClusters implements AsyncDisposable {
  readonly near: Cascades
  readonly far: Cascades
  /** What the far cluster knows the near one by. */
  readonly id: string
  /** What the far cluster was asked. */
  readonly asked: ApiRequest[] = []
  /** The way to the far cluster; undefined while it is away. */
  way: Client | undefined

  constructor(near: Cascades, far: Cascades, id: string) {
    this.near = near
    this.far = far
    this.id = id
    const { transport } = far.world.server
    this.way = new Client((request) => (this.asked.push(request), transport(request)), { cluster: 'far' })
  }

  static async start(farOptions: CascadeOptions = {}): Promise<TwoClusters> {
    const near = await Cascades.start({ isRunning: false })
    const far = await Cascades.start(farOptions)
    const system = await near.world.client.get<StoredObject>(namespaces, { name: 'kube-system' })
    const both = new TwoClusters(near, far, system.metadata.uid)
    await near.create('app')
    await far.create('database')
    await both.give(`${both.id}/team`)
    return both
  }

  /** Lets somebody look after the Bonds; by way of this client, if one is given. */
  run(client = this.near.world.client): void {
    this.near.world.run(bondController({ ...this.near.world, client, clusterClient: () => this.way }))
  }

  /** The leave that the database's namespace gives. */
  async give(leave: string | null): Promise<void> {
    const body = { metadata: { annotations: { [grantAnnotation]: leave } } }
    await this.far.world.client.patch(namespaces, { name: 'team' }, { type: 'merge', body })
  }

  /** A Bond by which the app needs something. */
  async bind(onDelete: Bond['spec']['onDelete'], dependency: object = database, metadata: object = {}): Promise<void> {
    await this.near.world.create({
      apiVersion: bond.apiVersion,
      kind: 'Bond',
      metadata: { name: 'app-database', namespace: 'team', ...metadata },
      spec: { dependent: { ...end, name: 'app' }, dependency, onDelete },
    })
    await this.pass()
  }

  async edit(spec: object, place: object = {}): Promise<void> {
    const where = { namespace: 'team', name: 'app-database', ...place }
    await this.near.world.client.patch(bond.type, where, { type: 'merge', body: { spec } })
    await this.pass()
  }

  async unbind(name = 'app-database'): Promise<void> {
    await this.near.world.client.deleteObject(bond.type, { namespace: 'team', name })
    await this.pass()
  }

  async pass(ms = 40_000): Promise<void> {
    await this.near.world.pass(ms)
    await this.far.world.pass(ms)
  }

  async condition(name = 'app-database') {
    return (await this.near.bond(name))?.status?.conditions?.[0]
  }

  /** The marks that Bonds have put on the database and on its namespace. */
  async marks(): Promise<{ readonly hold: boolean; readonly guard?: string; readonly spaceGuard?: string }> {
    const { finalizers = [], annotations = {}, labels } = (await this.far.get('database'))?.metadata ?? {}
    const guard = labels && annotations[this.inUseBy]
    const space = (await this.space()).metadata
    const spaceGuard = space.labels?.['sojourn.dev/in-use'] && space.annotations?.[this.inUseBy]
    return {
      hold: finalizers.includes(`sojourn.dev/held-from-${this.id}`),
      ...(guard ? { guard } : {}),
      ...(spaceGuard ? { spaceGuard } : {}),
    }
  }

  get inUseBy(): string {
    return `${inUseAnnotation}.${this.id}`
  }

  space(): Promise<StoredObject> {
    return this.far.world.client.get<StoredObject>(namespaces, { name: 'team' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.near[Symbol.asyncDispose]()
    await this.far[Symbol.asyncDispose]()
  }
}
