import { Alarms } from '../../src/runtime/controller/alarms.ts'
import { systemClock, type Clock } from '../../src/runtime/time/clock.ts'
import { VirtualClock } from '../../src/runtime/time/virtual-clock.ts'
import { judged, type Judgement } from './judgement.ts'

const day = 86_400_000

/** Sets thirty-day alarms on the real clock for two seconds, and on a virtual one for thirty days. */
export async function measureTimers(): Promise<Judgement[]> {
  let timers = 0
  let early = 0
  const counting: Clock = {
    ...systemClock,
    after: (delayMs, callback) =>
      systemClock.after(delayMs, () => {
        timers++
        callback()
      }),
  }
  const alarms = setAlarms(counting, () => early++)
  await new Promise((resolve) => setTimeout(resolve, 2000))
  alarms.close()
  const clock = new VirtualClock(systemClock.now())
  let lateMs = 0
  const dueAt = clock.now() + 30 * day
  setAlarms(clock, () => (lateMs = Math.max(lateMs, clock.now() - dueAt)))
  await clock.run(dueAt + 100)
  return [
    judged('timers: thirty-day alarms that fired early', early, { atMost: 0 }),
    judged('timers: wake-ups for them in two seconds', timers, { atMost: 0 }),
    judged('timers: how late they fire after thirty days, ms', lateMs, { atMost: 10 }),
  ]
}

function setAlarms(clock: Clock, ring: () => void): Alarms {
  const alarms = new Alarms(clock)
  const set = alarms.open(ring)
  for (let index = 0; index < 1000; index++) set.set(set.intern(`key-${index}`), clock.now() + 30 * day)
  return alarms
}
