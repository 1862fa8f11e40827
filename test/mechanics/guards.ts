import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** Where tests are of what goes without the door: Pods and Jobs by their controllers, and what a takeover made for itself. */
export const testFolders = [
  'src/workloads',
  'src/systems/activator',
  'src/app',
  'src/runtime/controller',
  'src/admission',
  'test/e2e',
]

/** No specification numbers them: each guard names the test that misses it. */
export const cases: readonly string[] = []

export const guards: readonly Guard[] = [
  ...inFile('src/runtime/sharing/lease.ts', [
    [
      'takes no role whose leader renews, although its own watch has stalled',
      'seenAnchor.observe(await seenAnchor.#read(signal))',
      'await Promise.resolve()',
    ],
    [
      'asks for each role again after an outage, although its own watch has stalled',
      'this.#anchor.term === this.#anchor.lease.#term && this.#anchor.lease.held',
      'this.#anchor.lease.held',
    ],
  ]),
  ...inFile('src/runtime/controller/controller.ts', [
    ['reconciles nothing while its process may not act', 'if (!this.#mayAct()) {', 'if (!this.#running) {'],
  ]),
  ...inFile('src/workloads/delete.ts', [
    [
      'keep an object without a controller',
      'if (!metadata.ownerReferences?.some(({ controller }) => controller))',
      'if (metadata.name === "")',
    ],
    ['keep an object recreated under the same name', '{ uid, propagationPolicy', '{ propagationPolicy'],
    [
      'keep a Pod that is not terminating',
      'if (!pod.metadata.deletionTimestamp) throw',
      'if (pod.metadata.name === "") throw',
    ],
    [
      'keep a Job without ttlSecondsAfterFinished',
      'if (ttlSecondsAfterFinished === undefined)\n    throw',
      'if (job.metadata.name === "")\n    throw',
    ],
    ['keep a Job whose TTL is extended at the same time', '{ resourceVersion: job.metadata.resourceVersion }', '{}'],
  ]),
  ...inFile('src/workloads/controllers/jobs.ts', [
    [
      'that is suspended deletes running Pods, keeps finished ones',
      'if (!isPodFinished(pod) && !pod.metadata.deletionTimestamp) await deleteOwned',
      'if (!pod.metadata.deletionTimestamp) await deleteOwned',
    ],
    [
      'that is complete keeps its finished Pods',
      'if (!isPodFinished(pod) && !pod.metadata.deletionTimestamp) await deleteOwned',
      'if (!pod.metadata.deletionTimestamp) await deleteOwned',
    ],
    [
      'is deleted when ttlSecondsAfterFinished is over, and not before',
      'if (clock.now() < expiresAt) return wakeAt(expiresAt)',
      '',
    ],
    ['counts every finished Pod once, even if Pods are deleted', '    finalizers: [trackingFinalizer],\n', ''],
    ['removes the finalizers of Pods when it is deleted', '    await this.#releaseStrays(key, job)\n', ''],
  ]),
  ...inFile('src/systems/activator/takeover/leftovers.ts', [
    ['leaves what only looks like ours', 'isOurMade(object) && companionBase(', 'companionBase('],
    [
      'keeps the replicas of a workload that was scaled since',
      'replicas <= least && replicas < former',
      'replicas < former',
    ],
  ]),
  ...inFile('src/systems/activator/reconcile/workload-reconciler.ts', [
    ['takes neither label nor companion away', 'if (!isOurs || dryRun) return settled', 'if (!isOurs) return settled'],
  ]),
  ...inFile('src/systems/activator/reconcile/service-reconciler.ts', [
    [
      'takes neither label nor companion away',
      'if (!dryRun) await actions.removeCompanion(',
      'await actions.removeCompanion(',
    ],
  ]),
  ...inFile('src/systems/activator/cluster/act.ts', [
    [
      'lets the newest of two writers win, whichever of them comes last',
      'isNews ? { resourceVersion, annotations }',
      'isNews ? { annotations }',
    ],
  ]),
  ...inFile('src/workloads/controllers/cron-jobs.ts', [
    ['keeps the newest finished Jobs up to the history limits', 'finished.slice(limit)', 'finished'],
    [
      'keeps the newest finished Jobs up to the history limits',
      'left.metadata.creationTimestamp < right.metadata.creationTimestamp ? 1 : -1',
      'left.metadata.creationTimestamp < right.metadata.creationTimestamp ? -1 : 1',
    ],
    [
      'keeps the newest finished Jobs up to the history limits',
      '.filter((job) => outcomeOf(job) === outcome && ',
      '.filter((job) => outcomeOf(job) !== undefined && ',
    ],
    [
      'with a running Job follows its concurrency policy',
      "if (concurrencyPolicy === 'Replace') for",
      "if (concurrencyPolicy !== 'Forbid') for",
    ],
  ]),
  ...inFile('src/systems/activator/cluster/takeover-actions.ts', [
    [
      'writes the new way before it takes the old one away',
      `    for (const slice of write) await writeSlice(this.#client, slice)
    await this.#removeSlices(remove)`,
      `    await this.#removeSlices(remove)
    for (const slice of write) await writeSlice(this.#client, slice)`,
    ],
    [
      'keeps the old way when the new one cannot be written',
      'await writeSlice(this.#client, slice)',
      'await writeSlice(this.#client, slice).catch(() => {})',
    ],
    [
      'moves no selector that was changed since it was judged',
      'metadata: { resourceVersion, annotations }, spec: { selector: null }',
      'metadata: { annotations }, spec: { selector: null }',
    ],
    [
      'puts back no selector on a Service that was changed since it was judged',
      'metadata: { resourceVersion, annotations: { [annotation.selector]: null } }',
      'metadata: { annotations: { [annotation.selector]: null } }',
    ],
    [
      'empties what it judged, and no slice that was changed since',
      '{ metadata: { resourceVersion: slice.metadata.resourceVersion }, endpoints: [] }',
      '{ endpoints: [] }',
    ],
    ['empties of what is mirrored the Endpoints themselves', 'if (isMirrored(slice)) continue', ''],
    [
      'empties of what is mirrored the Endpoints themselves',
      'if (!found || !isKubernetesOwn(found)) return',
      'if (!found) return',
    ],
    ['keeps Endpoints that someone made', 'if (!found || !isKubernetesOwn(found)) return', 'if (!found) return'],
    [
      'empties no Endpoints that are written anew in that moment',
      '{ metadata: { resourceVersion: found.metadata.resourceVersion }, subsets: null }',
      '{ subsets: null }',
    ],
  ]),
  ...inFile('src/workloads/controllers/deployments.ts', [
    [
      'keeps the newest ReplicaSets up to revisionHistoryLimit',
      'old.slice(deployment.spec.revisionHistoryLimit ?? 10)',
      'old',
    ],
    [
      'keeps the newest ReplicaSets up to revisionHistoryLimit',
      'revisionOf(right) - revisionOf(left))\n    for',
      'revisionOf(left) - revisionOf(right))\n    for',
    ],
    [
      'keeps an old ReplicaSet that still has Pods',
      '(set.spec.replicas ?? 0) === 0 && Number(set.status?.replicas ?? 0) === 0',
      'set.metadata.name !== ""',
    ],
    ['keeps the newest ReplicaSets up to revisionHistoryLimit', 'set !== current && ', ''],
  ]),
  ...inFile('src/app/operations/drain.ts', [
    ['changes nothing while an activator leads', 'if (dryRun || running.length > 0 ||', 'if (dryRun ||'],
    [
      'leaves marks of others alone',
      'activator ? { held: [], unread: [] } : await surveyHeld(client, onProgress)',
      'await surveyHeld(client, onProgress)',
    ],
  ]),
  ...inFile('src/systems/activator/proxy/http2/stream-guard.ts', [
    ['is reset, and its siblings are answered', 'return stream.left < 0 ? errorCode.protocol : undefined', 'return'],
    ['is reset, and its siblings are answered', 'if (increment === 0) return errorCode.protocol', ''],
    [
      'is reset, and its siblings are answered',
      'return stream.window > maxWindow ? errorCode.flowControl : undefined',
      'return',
    ],
    ['is reset, and its siblings are answered', 'if (stream.clientEnded) return errorCode.streamClosed', ''],
    [
      'leaves the table of fields as both sides know it',
      'return type === data || type === headers\n',
      'return false\n',
    ],
    ['too many make an end of the connection', 'this.#faults++ < maxFaults', 'this.#faults++ < Infinity'],
    ['still end it', 'this.#isBlind = frame.length > maxFrameBytes', 'this.#isBlind = false'],
  ]),
  ...inFile('src/workloads/controllers/revisions.ts', [
    ['keeps the newest revisions up to revisionHistoryLimit', 'unused.slice(revisionHistoryLimit)', 'unused'],
    [
      'keeps the newest revisions up to revisionHistoryLimit',
      'right.revision - left.revision',
      'left.revision - right.revision',
    ],
    ['keeps an old revision that a Pod uses', 'new Set([...inUse, name])', 'new Set([name])'],
  ]),
]
