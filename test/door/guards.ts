import { inFile, type Guard } from '../../scripts/guards/guard.ts'
import { collectorGuards } from './collector-guards.ts'
import { recordGuards } from './record-guards.ts'

/** Where tests of the one door out and of the collector are. */
export const testFolders = [
  'src/departures',
  'src/systems/cleaner',
  'src/systems/collector',
  'src/apiserver/objects',
  'src/app',
  'src/admission',
  'src/queries',
  'src/apiserver/kinds',
  'src/apiserver/http',
  'test/e2e/collector',
]

/** No specification numbers what the door holds to: each guard names the test that misses it. */
export const cases: readonly string[] = []

const plans = [
  ...inFile('src/systems/cleaner/delete-targets.ts', [
    ['are rules once they select many', 'objects.length <= maxPlanned', 'objects.length > 0'],
  ]),
  ...inFile('src/departures/door/depart-together.ts', [
    ['keep a target that is marked in the very moment', '!this.#ports.door.allows(each) ||', ''],
    ['with one record that restores them', 'for (const slice of kept) this.#record(transaction, slice)', ''],
  ]),
  ...inFile('src/departures/door/transact-over-api.ts', [
    [
      'keep a target that is marked after it was judged',
      "{ uid, resourceVersion, propagationPolicy: 'Background' }",
      "{ uid, propagationPolicy: 'Background' }",
    ],
    [
      'come to the same end when the process is killed at',
      'await client.create(departurePage.type, page)',
      'void page',
    ],
    ['delete a target with a finalizer on its own', 'finalizers.length > 0 || ', ''],
    ['when the first of them has changed', 'if (removed === 0) {', 'if (removed < 0) {'],
  ]),
  ...inFile('src/systems/cleaner/expire-together.ts', [
    [
      'are deleted stage by stage where a condition needs the target',
      'if (!isAtomic && target.delete && target.evaluate) return undefined',
      '',
    ],
    [
      'keep a target whose condition has become false in the very moment',
      "if (decide({ self, reading: { model }, resolutions }, clock.now()).do !== 'delete') return undefined",
      '',
    ],
    [
      'keep everything of a Cleaner that a user has suspended in the very moment',
      ' || now.metadata.resourceVersion !== self.metadata.resourceVersion',
      '',
    ],
    [
      'are not deleted together where the identity behind the Cleaner',
      'if (target.delete && (await actor.refusalOf(access))) return undefined',
      '',
    ],
  ]),
  ...inFile('src/apiserver/objects/delete/delete-together.ts', [
    ['give a target with dependents a record of its own', "change?.type !== 'delete'", '!change'],
    ['wait for a target that a finalizer holds', "change?.type !== 'delete'", '!change'],
  ]),
]

/** What keeps a deletion from happening unannounced, too early, or against a user's keep. */
const warnings = [
  ...inFile('src/systems/cleaner/decision/warning.ts', [
    [
      'announces the deletion once, a day before, and deletes on',
      'now < date ? untilDate(date) : decision',
      'decision',
    ],
    ['counts the whole warning from the notice, however short its TTL', ', now + warn.beforeMs)', ')'],
    [
      'deletes nothing while no channel accepts the notice',
      'if (warning?.toldAt !== undefined) return',
      'if (warning !== undefined) return',
    ],
    ['announces a changed spec again', 'warning?.generation === metadata.generation &&', 'warning !== undefined &&'],
    ['and again when they were false after the date', 'return areFalse && toldAt', 'return !areFalse && toldAt'],
    ['is kept by the link of its notice by POST only', '>= keptUntil(status)', '>= 0'],
  ]),
  ...inFile('src/systems/cleaner/tell.ts', [
    [
      'keeps everything while a channel does not exist',
      'if (!found) return wait(',
      'if (!found) continue\n    if (!found) return wait(',
    ],
    [
      'uses no channel that the identity behind it may not get',
      'if (refusal) return decideRefused(',
      'if (false as boolean) return decideRefused(',
    ],
    [
      'does not announce a dry run',
      "if (verdict.because === 'outside-window'",
      "if (verdict.because === 'dry-run' || verdict.because === 'outside-window'",
    ],
    [
      'does not announce what is marked to be kept',
      "if (verdict.result !== 'held' && verdict.result !== 'refused') return undefined",
      'if (verdict) return undefined',
    ],
    [
      'is told once and not deleted early, wherever the process is killed',
      'currentWarning(self)?.announcedAt ?? formatTime(now)',
      'formatTime(now)',
    ],
  ]),
  ...inFile('src/notices/keep-page.ts', [
    ['is kept by the link of its notice by POST only', "if (!subject || verdict === 'forged')", 'if (!subject)'],
    ['is kept by the link of its notice by POST only', 'if (!isPost) return ask(', 'if (false as boolean) return ask('],
    [
      'is kept by the link of its notice by POST only',
      "announcement?.generation !== Number(request.query['generation'])",
      '!announcement',
    ],
    ['changes nothing from the link in a dry run', 'if (dryRun) return page', 'if (false as boolean) return page'],
  ]),
]

const door = inFile('src/departures/door/door.ts', [
  // The object is read when it is to go, not when it was judged.
  [
    'keeps what was marked to be kept after it was judged',
    'const object = await subject.read()',
    'const object = { apiVersion: subject.ref.apiVersion, kind: subject.ref.kind, metadata: { ...subject.ref, uid: request.uid, resourceVersion: request.resourceVersion } } as KubeObject',
  ],
  ['stays while something in it is opted out', '(await this.protectedContents(request.subject)) ?? verdict', 'verdict'],
  [
    'stays while it cannot be known what is in it',
    `      return {
        result: 'held',
        because: 'protections-unknown',
        detail: error instanceof Error ? error.message : String(error),
      }`,
    '      return undefined',
  ],
  ['opens the breaker when too much is deleted', 'if (over) return this.#noteHeld(request, over)', ''],
  ['opens for announced deletions', 'overrun.isPace && booking.isAnnounced', 'booking.isAnnounced'],
  [
    'deletes no more than the budget allows, however many requests come at once',
    "this.#bookings.run('', () => this.#book(request, object))",
    'this.#book(request, object)',
  ],
  [
    'opens the breaker when too much is deleted',
    'const switches = await writeDoorState(client, openBreaker(overrun, now))',
    'const switches = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", namespace: "team" } } as never',
  ],
  [
    'comes to the same end from every step, deleting once and never without a record',
    'const record = await this.#writeRecord({ ...request, unbudgeted }, object)',
    'const record = { metadata: { name: "" } } as Departure',
  ],
  [
    'keeps an object that changes just before its deletion',
    "      await this.#writePhase(record, {\n        phase: 'Abandoned',",
    "      await this.#writePhase(record, {\n        phase: 'Gone',",
  ],
  ['writes nothing in a dry run', "'Sojourn runs with --dry-run' : ofRequest", "'' : undefined"],
  [
    'deletes nothing where dry run is configured',
    "dryRun: this.#dryRun ? 'Sojourn runs with --dry-run' : ofRequest",
    'dryRun: ofRequest',
  ],
  [
    'keeps dependents while paused, in a dry run, with an open breaker, or without its caches',
    "if (state.paused) return () => 'paused'",
    '',
  ],
  [
    'keeps dependents while paused, in a dry run, with an open breaker, or without its caches',
    "if (state.breaker === 'open') return () => 'breaker-open'",
    '',
  ],
  [
    'keeps dependents while paused, in a dry run, with an open breaker, or without its caches',
    "if (this.#dryRun || state.dryRun) return () => 'dry-run'",
    '',
  ],
  [
    'keeps dependents while paused, in a dry run, with an open breaker, or without its caches',
    "if (!state || !this.#protections.isCurrent) return () => 'protections-unknown'",
    'if (!state) return () => undefined',
  ],
  [
    'used up holds that namespace and never another one',
    "if (scope !== undefined && state.circuits[scope] !== undefined) return 'breaker-open'",
    '',
  ],
  [
    'used up holds that namespace and never another one',
    'if (Object.keys(state.circuits).length > 0) return false',
    '',
  ],
  [
    'do not count where a tenant may have planted them',
    'if (!(await this.#ports.provesRecords().catch(() => true))) return',
    'await this.#ports.provesRecords().catch(() => true)',
  ],
  [
    'do not count in a place where no door writes them',
    "if (spec.by.system === 'user' || !isOurs) return",
    "if (spec.by.system === 'user') return",
  ],
  [
    'knows when only marks can keep an object, so that a preview checks nothing else',
    "if (!isKnown || this.#dryRun || state.dryRun || state.paused || state.breaker === 'open') return false",
    'if (!isKnown) return false',
  ],
  [
    'knows when only marks can keep an object, so that a preview checks nothing else',
    'const isKnown = state && this.#protections.isCurrent',
    'const isKnown = state',
  ],
  [
    'keeps every system of ours from deleting what it denies',
    'return isHeld ? undefined : protection?.because',
    'return undefined',
  ],
])

const protectionCache = inFile('src/departures/door/protection-cache.ts', [
  ['holds while it cannot read what protects objects', 'if (!this.isCurrent) return undefined', ''],
  [
    'knows when only marks can keep an object, so that a preview checks nothing else',
    'return this.#optOuts.list().length === 0 && this.#bonds.list().length === 0',
    'return this.#bonds.list().length === 0',
  ],
  [
    'knows when only marks can keep an object, so that a preview checks nothing else',
    'return this.#optOuts.list().length === 0 && this.#bonds.list().length === 0',
    'return this.#optOuts.list().length === 0',
  ],
])

const judge = inFile('src/departures/door/judge.ts', [
  ['keeps another object under the same name', "if (object.metadata.uid !== uid) return { result: 'stale' }", ''],
  ['does not delete twice', "if (object.metadata.deletionTimestamp) return { result: 'leaving' }", ''],
  [
    'keeps a version it has not judged',
    'if (resourceVersion !== undefined && object.metadata.resourceVersion !== resourceVersion)',
    'if (resourceVersion === "")',
  ],
  ['holds when its switches cannot be known', 'if (!protections || !state)', 'if (!protections)'],
  ['keeps what is opted out', 'if (protection) return protection', ''],
  ['holds in a dry run', 'const isDry = dryRun ?? (', 'const isDry = ('],
  ['holds in a dry run by its switch', 'dryRun ?? (state.dryRun ?', 'dryRun ?? (false ?'],
  ['holds while paused', "if (state.paused) return { result: 'held', because: 'paused' }", ''],
  [
    'holds when a schedule is missing',
    "if (!spec) return { result: 'held', because: 'no-such-schedule', detail: name }",
    'if (!spec) continue',
  ],
  [
    'holds when a schedule cannot be read',
    "if (spec === 'unknown') return { result: 'held', because: 'protections-unknown' }",
    "if (spec === 'unknown') continue",
  ],
  ['holds outside the window', 'if (!window.open)', 'if (window.open === undefined)'],
  [
    'holds while the breaker of its namespace is open',
    'if (circuit !== undefined) return',
    'if (circuit === null) return',
  ],
  ['holds while the breaker is open', "if (state.breaker === 'open')", 'if (state.breaker === undefined)'],
])

const protection = inFile('src/departures/door/protection.ts', [
  ['Deny: binds the doors and cascades of that cluster', ' || refusedElsewhere(object) !== undefined', ''],
  [
    'Deny: binds the doors and cascades of that cluster',
    'if (elsewhere !== undefined) return',
    'if (elsewhere === "") return',
  ],
  [
    'keeps what an opt-out may mean whose selector cannot be read',
    'if (isStatusError(error)) return true',
    'if (isStatusError(error)) return false',
  ],
  ['keeps what a label keeps', ' ?? metadata.labels?.[keepMark]', ''],
  ['keeps what an annotation keeps', 'metadata.annotations?.[keepMark] ?? ', ''],
  ['keeps what never expires', "return expirationMarks.some(says) ? 'never-expires' : undefined", 'return undefined'],
  ['keeps its own records', 'carriedMark(object) ?? machineryOf(object)', 'carriedMark(object)'],
  ['keeps what is in kube-system', "if (systemNamespaces.has(namespace)) return 'system-namespace'", ''],
  ['keeps the default namespace', "(systemNamespaces.has(name) || name === 'default')", 'systemNamespaces.has(name)'],
  [
    'keeps its own definitions',
    "return kind === 'CustomResourceDefinition' && ownGroups",
    "return kind === '' && ownGroups",
  ],
  [
    'keeps what is opted out',
    "if (optOut) return { result: 'refused'",
    "if (!cluster && optOut && now < 0) return { result: 'refused'",
  ],
  [
    'keeps when the end of an opt-out is unreadable',
    '(parseTime(spec.expiresAt) ?? Infinity) > now',
    '(parseTime(spec.expiresAt) ?? 0) > now',
  ],
  [
    'keeps what a Bond denies',
    "if (denying) return { result: 'refused'",
    "if (denying && now < 0) return { result: 'refused'",
  ],
  ['waits for what a Bond holds', "return holding ? { result: 'held'", "return holding && now < 0 ? { result: 'held'"],
])

const others: readonly Guard[] = [
  ...inFile('src/departures/door/door-state.ts', [
    [
      'reads a switch with an unknown value as its safe side',
      "data.breaker === undefined || data.breaker === 'closed' ? 'closed' : 'open'",
      "data.breaker === 'open' ? 'open' : 'closed'",
    ],
    [
      'reads a switch with an unknown value as its safe side',
      "data.paused !== undefined && data.paused !== 'false'",
      "data.paused === 'true'",
    ],
    [
      'reads a switch with an unknown value as its safe side',
      "data.dryRun !== undefined && data.dryRun !== 'false'",
      "data.dryRun === 'true'",
    ],
  ]),
  ...inFile('src/departures/door/budget.ts', [
    ['stops at the most per minute', 'if (lastMinute >= maxPerMinute)', 'if (lastMinute < 0)'],
    ['stops at the most of a kind per hour', 'if (lastHour >= maxPerHourOfKind)', 'if (lastHour < 0)'],
    ['stops at a share of a kind', '((lastHour + 1) / before) * 100 > maxPercentOfKind', 'before < 0'],
    [
      'forgives what left just before a human has looked',
      'if ((second + 1) * 1000 <= this.#since) this.#seconds.delete(second)',
      'if ((second + 60) * 1000 <= this.#since) this.#seconds.delete(second)',
    ],
    [
      'in any minute, whenever it began',
      'if ((second + 1) * 1000 <= at) continue',
      'if (Math.floor(second / 60) * 60_000 <= at) continue',
    ],
    [
      'counts a record once',
      'if (at < this.#since || this.#counted.has(record)) return false',
      'if (at < this.#since) return false',
    ],
  ]),
  ...inFile('src/departures/door/budget.ts', [
    ['used up holds that namespace and never another one', ', scope }\n  }\n\n  #dropIdle', ' }\n  }\n\n  #dropIdle'],
    ['is used up by half of a kind in it', "() => ofKind('namespace')", "() => ofKind('cluster')"],
  ]),
  ...inFile('src/departures/subjects/subject.ts', [
    [
      'keeps an object that changes just before its deletion',
      '          uid,\n          resourceVersion,\n',
      '          uid,\n',
    ],
    ['keeps an object that is recreated just before its deletion', '          uid,\n          resourceVersion,\n', ''],
    [
      'keeps an object that changes just before its deletion',
      "if (isStatusError(error, 'Conflict')) return 'changed'",
      "if (isStatusError(error, 'Conflict')) return 'gone'",
    ],
    ['stays while something in it is opted out', "case 'namespaces':", "case 'none':"],
  ]),
  ...inFile('src/departures/subjects/contents.ts', [
    ['is every object in it, each once, however many versions its kind has', 'type.namespaced &&', ''],
    [
      'is every object in it, each once, however many versions its kind has',
      "['list', 'delete'].every((verb) => type.verbs.includes(verb)) &&",
      '',
    ],
    [
      'is every object in it, each once, however many versions its kind has',
      'return eachKindOnce(kept)',
      'return kept',
    ],
    ['is nothing that is derived from other objects', '!derivedTypes.has(groupResource(type)),', 'true,'],
    [
      'is nothing that the cluster recreates by itself',
      'return isMadeByCluster || namespaceDefaults.has(`${kind}/${name}`)',
      'return namespaceDefaults.has(`${kind}/${name}`)',
    ],
    [
      'is nothing that the cluster recreates by itself',
      'return isMadeByCluster || namespaceDefaults.has(`${kind}/${name}`)',
      'return isMadeByCluster',
    ],
    [
      'is what a custom controller made',
      '&& builtInControllerGroups.has(parseApiVersion(controller.apiVersion).group)',
      '',
    ],
    ['is what a custom controller made', 'ownerReferences.find((owner) => owner.controller)', 'ownerReferences[0]'],
    [
      'stays while it cannot be known what is in it',
      'of contentTypes(await client.discovery.complete())',
      'of contentTypes(await client.discovery.all().then((all) => all.filter(({ plural }) => plural !== "secrets")))',
    ],
  ]),
  ...inFile('src/departures/door/budget.ts', [
    ['used up holds that namespace and never another one', ', scope }\n  }\n\n  #dropIdle', ' }\n  }\n\n  #dropIdle'],
    ['is used up by half of a kind in it', "() => ofKind('namespace')", "() => ofKind('cluster')"],
  ]),
  ...inFile('src/departures/subjects/subject.ts', [
    [
      'stays while an object of its kind is marked to be kept',
      "case 'customresourcedefinitions.apiextensions.k8s.io':",
      "case 'no-definitions':",
    ],
  ]),
  ...inFile('src/departures/restore/adopt.ts', [
    [
      'gives what comes back to its owner that has stayed, and says when that has gone',
      'const isMeant = found.metadata.uid === uid || isRestoredFrom(found, uid)',
      'const isMeant = true',
    ],
    [
      'gives what comes back to its owner that another restore has brought back',
      'found.metadata.uid === uid || isRestoredFrom(found, uid)',
      'found.metadata.uid === uid',
    ],
  ]),
  ...inFile('src/departures/subjects/own-machinery.ts', [
    [
      '50: what is given another owner in that moment',
      'deepEqual(now.ownerReferences ?? [], then.ownerReferences ?? []) &&',
      '',
    ],
    ['50: what is marked to be kept in that moment stays', "if (!isAsJudged(now, judged)) return 'changed'", ''],
    ['50: what is marked to be kept in that moment stays', 'deepEqual(now.labels ?? {}, then.labels ?? {}) &&', ''],
    [
      '50: what is marked to be kept in that moment stays',
      'deepEqual(now.annotations ?? {}, then.annotations ?? {})',
      'true',
    ],
    ['50: what is written to in that moment is recorded as it was when it went', 'now.generation !== undefined &&', ''],
    [
      '50: what is given another owner in that moment',
      '{ uid, resourceVersion, propagationPolicy, cascadeRecord }',
      '{ uid, propagationPolicy, cascadeRecord }',
    ],
    [
      '50: what is made anew under its name in that moment',
      '{ uid, resourceVersion, propagationPolicy, cascadeRecord }',
      '{ propagationPolicy, cascadeRecord }',
    ],
    [
      '50: what is made anew under its name in that moment',
      "if (!now || now.metadata.uid !== uid) return 'gone'",
      "if (!now) return 'gone'\n    ;(judged.metadata as { uid: string }).uid = now.metadata.uid\n    return deleteDependent(client, type, { ...judged, metadata: now.metadata }, { propagation: propagationPolicy })",
    ],
    [
      'have no record of their own',
      '{ uid, resourceVersion, propagationPolicy, cascadeRecord }',
      '{ uid, resourceVersion, propagationPolicy }',
    ],
  ]),
  ...inFile('src/departures/subjects/own-machinery.ts', [
    [
      'refuses to delete what is not our own',
      'if (!isOwn(type, labels)) throw',
      'if (!isOwn(type, labels) && name === "") throw',
    ],
    ['keeps what was recreated under the name of our own', '{ uid, resourceVersion }', '{}'],
  ]),
  ...inFile('src/departures/records/record.ts', [
    ['never holds the data of a Secret', 'if (!isSecret(object)) return manifest', 'return manifest'],
    [
      'never holds the data of a Secret',
      'if (!annotations || !isSecret(object)) return annotations',
      'return annotations',
    ],
  ]),
  ...inFile('src/departures/drain/drain.ts', [
    ['takes off what is ours and nothing', 'metadata: { resourceVersion, finalizers:', 'metadata: { finalizers:'],
    ['keeps what was recreated under the same name', ' || now.metadata.uid !== uid', ''],
    [
      'x.dev/sojourn.dev',
      "ourDomains.has(name.split('/')[0] ?? '')",
      '[...ourDomains].some((each) => name.includes(each))',
    ],
    [
      'says what it could not look at',
      "if (!isStatusError(error, 'NotFound')) unread.push",
      'if (held.length < 0) unread.push',
    ],
    ['knows who of us runs', '+ leaseDurationSeconds * 1000 > now', '> now'],
    [
      'tells what is deleted the moment it is released',
      'ours.length > 0 && ours.length === finalizers.length',
      'ours.length > 0',
    ],
  ]),
  ...inFile('src/departures/records/settle-controller.ts', [
    ['prunes records when their time is up', 'return now >= recordedAt + keepMs ?', 'return now >= recordedAt ?'],
    ['keeps a record that is still open, however old', 'if (isOpen) return', 'if (isOpen && now < 0) return'],
    [
      'prunes pages after their record, and keeps those of one that is still open',
      'if (records.get(namespace, recordOfPage(name))) return wakeAt(now + pagePatienceMs)',
      '',
    ],
    ['leaves the records of other systems to them', '!systems || systems.includes(record.spec.by.system)', 'true'],
  ]),
]

/** Every guard of the door, and of what uses it for its own ends. */
export const guards: readonly Guard[] = [
  ...door,
  ...plans,
  ...warnings,
  ...protectionCache,
  ...judge,
  ...protection,
  ...others,
  ...recordGuards,
  ...collectorGuards,
]
