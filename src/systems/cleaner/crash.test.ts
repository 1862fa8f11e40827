import { configMaps, secrets } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { cleaner, type Cleaner } from '../../apis/cleaner.ts'
import { departure } from '../../apis/departure.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import type { deletedEvent } from './outbox.ts'
import {
  cleanerOf,
  configMap,
  isWrite,
  left,
  minute,
  releaseHolder,
  selected,
  self,
  startCleaner,
} from '../../../test/cleaners.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

/** How the process that is killed loses its last request: on the way there, or on the way back. */
type Loss = 'request' | 'answer'

/** Everything a life needs, in a namespace of its own: two targets by label, a release with hooks and two revisions, a sink. */
async function furnish(namespace: string): Promise<void> {
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const labels = { app: 'x' }
  for (const name of ['a', 'b']) await world.create(configMap(name, { namespace, labels }, { go: 'yes' }))
  const part = configMap('part', { namespace })
  const hook = (name: string): KubeObject => ({
    ...configMap(name),
    metadata: { name, annotations: { 'helm.sh/hook-delete-policy': 'before-hook-creation' } },
  })
  const parts = {
    objects: [{ ...part, metadata: { name: 'part' } }],
    hooks: [
      { events: ['pre-delete'], object: hook('before') },
      { events: ['post-delete'], object: hook('after') },
    ],
  }
  await world.create(part)
  await world.create(releaseHolder({ ...parts, revision: 1, status: 'superseded' }, { namespace }))
  await world.create(releaseHolder({ ...parts, revision: 2 }, { namespace }))
  await world.create(
    cleanerOf(
      {
        ttl: '1m',
        retry: { period: '1m' },
        targets: [selected('all', { app: 'x' })],
        conditions: ['all.items.all(x, x.data.go == "yes")'],
        helm: { release: 'app', delete: true },
        cloudEventSink: 'http://sink.example/',
      },
      { namespace },
    ),
  )
}

interface Life {
  /** Whether the whole sequence was done before the process could be killed. */
  readonly isOver: boolean
  readonly wasDecided: boolean
  readonly remaining: readonly string[]
  readonly isThere: boolean
  readonly secrets: readonly string[]
  /** How often each object was deleted, by path: only what the server did counts. */
  readonly deletes: ReadonlyMap<string, number>
  readonly told: readonly string[]
}

/** Kills the process at its n-th write, lets `meanwhile` happen, starts another one, and tells how it ended. */
async function live(
  namespace: string,
  { steps, loss, meanwhile }: { steps: number; loss: Loss; meanwhile: () => Promise<void> },
): Promise<Life> {
  await furnish(namespace)
  const deletes = new Map<string, number>()
  const told: string[] = []
  const send = (_: string, event: ReturnType<typeof deletedEvent>) => {
    told.push(event.headers['ce-id'] ?? '')
    return Promise.resolve()
  }
  const counting =
    (transport: Transport): Transport =>
    async (request) => {
      const answer = await transport(request)
      if (request.method === 'DELETE' && answer.status < 300)
        deletes.set(request.path, (deletes.get(request.path) ?? 0) + 1)
      return answer
    }
  let remaining = steps
  let isDead = false
  const dying =
    (transport: Transport): Transport =>
    async (request: ApiRequest) => {
      if (isDead) throw new Error('killed')
      // Cleaners of earlier lives that go on waiting write, too.
      if (!isWrite(request) || !request.path.includes(`/${namespace}/`) || remaining-- > 0) return transport(request)
      isDead = true
      if (loss === 'answer') await transport(request)
      throw new Error('killed')
    }
  const first = await startCleaner(world, { through: (transport) => dying(counting(transport)), send })
  // The dead do nothing: what they would have tried in the time that is left need not be waited for.
  await world.clock.run(world.clock.now() + 10 * minute, () => isDead)
  await first.kill()
  const before = await world.get<Cleaner>({ ...self, namespace })
  const wasDecided = before === undefined || before.status?.decision !== undefined
  await meanwhile()
  const second = await startCleaner(world, { through: counting, send })
  await world.pass(30 * minute)
  await second.kill()
  return {
    isOver: !isDead,
    wasDecided,
    remaining: await left(world, namespace),
    isThere: (await world.get({ ...self, namespace })) !== undefined,
    secrets: (await world.client.list(secrets, { namespace })).items.map(({ metadata }) => metadata.name),
    deletes,
    told,
  }
}

/** Every life with a kill at one more step than the one before, until there are no more steps. */
async function* lives(loss: Loss, meanwhile: (namespace: string) => Promise<void>): AsyncGenerator<Life> {
  for (let steps = 0; steps < 60; steps++) {
    const namespace = `${loss}-${steps}`
    const life = await live(namespace, { steps, loss, meanwhile: () => meanwhile(namespace) })
    yield life
    if (life.isOver) return
  }
  throw new Error('it has more steps than a Cleaner should need')
}

describe.each<Loss>(['request', 'answer'])('a cleaner killed at any step, its last %s lost', (loss) => {
  it('C2-28: reaches the same result, deletes nothing twice, and never an object that was not evaluated', async () => {
    const late = (namespace: string) =>
      world.create<void>(configMap('late', { namespace, labels: { app: 'x' } }, { go: 'yes' }))
    let decided = 0
    let undecided = 0
    for await (const life of lives(loss, late)) {
      expect(life.isThere).toBe(false)
      expect(life.secrets).toEqual([])
      expect([...life.deletes.values()].filter((times) => times > 1)).toEqual([])
      // At least once, and a second telling can be told by its id.
      expect(new Set(life.told).size).toBe(1)
      // Hooks leave what they made; what came after the decision stays, what came before it was evaluated.
      if (life.wasDecided) expect(life.remaining).toEqual(['after', 'before', 'late'])
      else expect(life.remaining).toEqual(['after', 'before'])
      if (life.wasDecided) decided++
      else undecided++
    }
    expect(undecided).toBeGreaterThan(0)
    expect(decided).toBeGreaterThan(15)
  }, 120_000)

  it('C2-27: carries out the recorded decision even if conditions have become false, and nothing else', async () => {
    const stopIt = async (namespace: string) => {
      const body = { data: { go: 'no' } }
      await world.client.patch(configMaps, { namespace, name: 'b' }, { type: 'merge', body }).catch(() => undefined)
    }
    for await (const life of lives(loss, stopIt)) {
      expect(life.isThere).toBe(!life.wasDecided)
      expect(life.remaining).toEqual(life.wasDecided ? ['after', 'before'] : ['a', 'b', 'part'])
      expect(life.told.length > 0).toBe(life.wasDecided)
      if (!life.wasDecided) expect(life.deletes.size).toBe(0)
    }
  }, 120_000)

  it('C2-27: deletes nothing if a user deletes the Cleaner before the controller does', async () => {
    let wasSpared = 0
    let wentOn = 0
    for (let steps = 0, isOver = false; !isOver; steps++) {
      const namespace = `${loss}-${steps}`
      let isTheirs = false
      const life = await live(namespace, {
        steps,
        loss,
        meanwhile: async () => {
          const found = await world.get<Cleaner>({ ...self, namespace })
          if (!found || found.metadata.deletionTimestamp) return
          const records = await world.client.list(departure.type, { namespace })
          isTheirs = records.items.length === 0
          await world.client.deleteObject(cleaner.type, { namespace, name: 'c' })
        },
      })
      isOver = life.isOver
      expect(life.isThere).toBe(false)
      expect(life.remaining).toEqual(isTheirs ? ['a', 'b', 'part'] : ['after', 'before'])
      if (isTheirs) wasSpared++
      else wentOn++
    }
    // Undecided, decided, and with finalizers; then, from its record on, it leaves by our own hand.
    expect(wasSpared).toBeGreaterThanOrEqual(loss === 'request' ? 4 : 3)
    expect(wentOn).toBeGreaterThan(15)
  }, 120_000)
})
