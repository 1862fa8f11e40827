import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { readRecording, recordingPath } from './recording.ts'
import { scenarios } from './scenarios/all.ts'
import { transcribe, type Line } from './transcript.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver')
if (missing) console.warn(`SKIPPED: the recording is not compared with a real kube-apiserver: ${missing}`)

/** `RECORD=1` writes what the real server says instead of comparing it. */
const isRecording = process.env['RECORD'] === '1'

describe.skipIf(missing)('a real kube-apiserver still answers what was recorded', () => {
  let cluster: ReferenceCluster
  const heard: Record<string, readonly Line[]> = {}
  beforeAll(async () => {
    cluster = await startReferenceCluster({ durable: false })
  }, 900_000)
  afterAll(async () => {
    await cluster?.stop()
    if (isRecording) writeFileSync(recordingPath, `${JSON.stringify(heard, null, 1)}\n`)
  })

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('on %s', async (name, scenario) => {
    heard[name] = await transcribe(cluster, scenario)
    if (!isRecording) expect(heard[name]).toEqual(readRecording()[name])
  })
})
