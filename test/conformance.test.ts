import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { randomUUID } from 'node:crypto'
import { KubernetesAdmission } from '../src/admission/registered/kubernetes-admission.ts'
import { openMemoryStore } from '../src/apiserver/store/sqlite-store.ts'
import { startTestServer, type TestServer } from './apiserver/test-server.ts'
import { systemClock } from '../src/runtime/time/clock.ts'
import { knownDifferences } from './conformance/known-differences.ts'
import { expectedOf, readRecording } from './conformance/recording.ts'
import { scenarios } from './conformance/scenarios/all.ts'
import type { Target } from './conformance/target.ts'
import { transcribe } from './conformance/transcript.ts'

/** The lane `test:kubernetes` proves that the recording is what a real kube-apiserver says. */
describe('the embedded API server answers as kube-apiserver does', () => {
  let server: TestServer
  let target: Target
  const recording = readRecording()
  beforeAll(async () => {
    const store = openMemoryStore(systemClock)
    const kubernetes = new KubernetesAdmission(store)
    server = await startTestServer({ clock: systemClock, store, admission: [kubernetes.hook] })
    kubernetes.start({
      server,
      uid: randomUUID,
      clock: systemClock,
      onError: console.error,
      call: () => Promise.reject(new Error('no webhook is called here')),
    })
    const { url } = await server.listen({ port: 0 })
    const { authority, tokens } = server.credentials
    target = { url, ca: authority, token: tokens.tokenOf('system:admin') ?? '' }
  })
  afterAll(() => server.close())

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('on %s', async (name, scenario) => {
    const lines = await transcribe(target, scenario)
    const recorded = (recording[name] ?? []).map(expectedOf)
    const known = knownDifferences[name] ?? {}
    const compared = (line: unknown, index: number) => (known[index] === undefined ? line : known[index])
    expect(lines.map(compared)).toEqual(recorded.map(compared))
    const ended = Object.keys(known).filter((index) => sameJson(lines[Number(index)], recorded[Number(index)]))
    expect(ended, 'differences that ended and should leave the list').toEqual([])
  })
})

function sameJson(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}
