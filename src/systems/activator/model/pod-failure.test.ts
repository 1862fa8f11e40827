import { expect, it } from 'vitest'
import { podFailure } from './pod-failure.ts'

const podWith = (container: object, conditions: readonly object[] = []) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  status: { conditions, containerStatuses: [{ name: 'app', ...container }] },
})
const ended = { terminated: { exitCode: 3, reason: 'Error' } }

it.each([
  [
    'a container that waits to be started again',
    { state: { waiting: { reason: 'CrashLoopBackOff' } } },
    'CrashLoopBackOff',
  ],
  ['a container that has just ended', { state: ended }, 'CrashLoopBackOff'],
  [
    'a container that was started again',
    { state: { running: {} }, lastState: ended, restartCount: 1 },
    'CrashLoopBackOff',
  ],
  [
    'a container that took too much memory',
    { state: { running: {} }, lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } }, restartCount: 2 },
    'OOMKilled',
  ],
  ['nothing while a container is being created', { state: { waiting: { reason: 'ContainerCreating' } } }, undefined],
  [
    'a container whose probe fails',
    { ready: false, started: true, state: { running: {} }, restartCount: 0 },
    'NotReadyInTime',
  ],
  ['nothing of a container that runs', { state: { running: {} }, restartCount: 0 }, undefined],
])('names %s', (_, container, reason) => expect(podFailure(podWith(container))?.reason).toBe(reason))

it('tells the exit code and the restarts', () => {
  const failure = podFailure(podWith({ state: { running: {} }, lastState: ended, restartCount: 4 }))
  expect(failure?.message).toBe('Pod web-1, container app ended with code 3, and has been restarted 4 times.')
})

it('tells the exit code of what waits to be started again, and which probe fails', () => {
  const waiting = { state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } }, lastState: ended }
  expect(podFailure(podWith(waiting))?.message).toBe(
    'Pod web-1, container app: CrashLoopBackOff back-off 10s; it ended with code 3',
  )
  const starting = { ready: false, started: false, state: { running: {} } }
  expect(podFailure(podWith(starting))?.message).toBe(
    'Pod web-1, container app runs, but its startup probe does not succeed',
  )
})
