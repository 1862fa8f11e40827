import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure } from '../../apis/departure.ts'
import { RecordIndex } from './restore-set.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

describe('the records that there are', () => {
  it('knows who followed something, the newest first', async () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', name: 'app', uid: 'u', resourceVersion: '1' }
    const spec = { object, because: 'test', by: { system: 'collector' }, recordedAt: '2026-01-05T08:00:00Z' }
    for (const name of ['a-first', 'c-second', 'b-third']) {
      const metadata = { name, namespace: 'team', labels: { 'sojourn.dev/follows': 'needed' } }
      await world.create({ apiVersion: departure.apiVersion, kind: departure.kind, metadata, spec })
    }
    const index = await RecordIndex.read(world.client, 'team')
    const line = { uid: 'needed', manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'database' } } }
    expect(index.about('', line).map(({ name }) => name)).toEqual(['b-third', 'c-second', 'a-first'])
  })
})
