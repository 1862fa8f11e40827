import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** Where tests of the one door out and of the collector are. */
export const testFolders = [
  'src/departures',
  'src/systems/collector',
  'src/apiserver/objects',
  'src/app',
  'src/apiserver/kinds',
  'src/apiserver/http',
  'test/e2e/collector',
]

/** No specification numbers what the door holds to: each guard names the test that misses it. */
export const cases: readonly string[] = []

const door = inFile('src/departures/door.ts', [
  // The object is read when it is to go, not when it was judged.
  [
    'keeps what was marked to be kept after it was judged',
    'const object = await subject.read()',
    'const object = { apiVersion: subject.ref.apiVersion, kind: subject.ref.kind, metadata: { ...subject.ref, uid: request.uid, resourceVersion: request.resourceVersion } } as KubeObject',
  ],
  ['stays while something in it is opted out', '(await this.#protectedCompany(request.subject)) ?? verdict', 'verdict'],
  [
    'stays while it cannot be known what is in it',
    `      return {
        result: 'held',
        because: 'protections-unknown',
        detail: error instanceof Error ? error.message : String(error),
      }`,
    '      return undefined',
  ],
  [
    'opens the breaker when too much leaves',
    '(await this.#inTurn(() => this.#book(subject, object))) ?? this.#let(request, object)',
    'this.#let(request, object)',
  ],
  [
    'lets no more go than the budget has, however many ask at once',
    'const turn = this.#turn.then(work)',
    'const turn = work()',
  ],
  [
    'opens the breaker when too much leaves',
    'const switches = await writeDoorState(client, openBreaker(because, now))',
    'const switches = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", namespace: "team" } } as never',
  ],
  [
    'comes to the same end from every step, deleting once and never without a record',
    'const record = await this.#writeRecord(request, object)',
    'const record = { metadata: { name: "" } } as Departure',
  ],
  [
    'spares an object that changes in the very moment of its deletion',
    "      await this.#writePhase(record, {\n        phase: 'Abandoned',",
    "      await this.#writePhase(record, {\n        phase: 'Gone',",
  ],
  [
    'lets an object leave that was spared before',
    "if (isCurrent && hasPages && found.status?.phase !== 'Abandoned') return found",
    'return found',
  ],
  [
    'records an object as it is when it goes',
    'const isCurrent = found.spec.object.resourceVersion === record.spec.object.resourceVersion',
    'const isCurrent = true',
  ],
  ['writes nothing in a dry run', 'dryRun: this.#dryRun || dryRun', 'dryRun: this.#dryRun'],
  ['lets nothing leave where it is configured to', 'dryRun: this.#dryRun || dryRun', 'dryRun'],
  [
    'holds while it cannot read what protects objects',
    'if (!isCurrent(this.#optOuts) || !isCurrent(this.#bonds)) return undefined',
    '',
  ],
  [
    'spares dependents while paused, in a dry run, behind an open breaker, or blind',
    "if (state.paused) return () => 'paused'",
    '',
  ],
  [
    'spares dependents while paused, in a dry run, behind an open breaker, or blind',
    "if (state.breaker === 'open') return () => 'breaker-open'",
    '',
  ],
  [
    'spares dependents while paused, in a dry run, behind an open breaker, or blind',
    "if (this.#dryRun || state.dryRun) return () => 'dry-run'",
    '',
  ],
  [
    'spares dependents while paused, in a dry run, behind an open breaker, or blind',
    "if (!state || !isCurrent(this.#optOuts) || !isCurrent(this.#bonds)) return () => 'protections-unknown'",
    'if (!state) return () => undefined',
  ],
  [
    'knows when nothing spares but marks, which a preview then looks for alone',
    "if (!isKnown || this.#dryRun || state.dryRun || state.paused || state.breaker === 'open') return false",
    'if (!isKnown) return false',
  ],
  [
    'knows when nothing spares but marks, which a preview then looks for alone',
    'const isKnown = state && isCurrent(this.#optOuts) && isCurrent(this.#bonds)',
    'const isKnown = state',
  ],
  [
    'knows when nothing spares but marks, which a preview then looks for alone',
    'return this.#optOuts.list().length === 0 && this.#bonds.list().length === 0',
    'return this.#bonds.list().length === 0',
  ],
  [
    'knows when nothing spares but marks, which a preview then looks for alone',
    'return this.#optOuts.list().length === 0 && this.#bonds.list().length === 0',
    'return this.#optOuts.list().length === 0',
  ],
  [
    'keeps every system of ours from deleting what it denies',
    'return isHeld ? undefined : protection?.because',
    'return undefined',
  ],
])

const judge = inFile('src/departures/judge.ts', [
  ['spares another object under the same name', "if (object.metadata.uid !== uid) return { result: 'stale' }", ''],
  ['does not delete twice', "if (object.metadata.deletionTimestamp) return { result: 'leaving' }", ''],
  [
    'spares a version it has not judged',
    'if (resourceVersion !== undefined && object.metadata.resourceVersion !== resourceVersion)',
    'if (resourceVersion === "")',
  ],
  ['holds when its switches cannot be known', 'if (!protections || !state)', 'if (!protections)'],
  ['keeps what is opted out', 'if (protection) return protection', ''],
  ['holds in a dry run', 'if (dryRun || state.dryRun)', 'if (state.dryRun)'],
  ['holds in a dry run by its switch', 'if (dryRun || state.dryRun)', 'if (dryRun)'],
  ['holds while paused', "if (state.paused) return { result: 'held', because: 'paused' }", ''],
  [
    'holds when a schedule is missing',
    "if (!schedule) return { result: 'held', because: 'no-such-schedule' }",
    'if (!schedule) continue',
  ],
  ['holds outside the window', 'if (!window.open)', 'if (window.open === undefined)'],
  ['holds while the breaker is open', "if (state.breaker === 'open')", 'if (state.breaker === undefined)'],
])

const protection = inFile('src/departures/protection.ts', [
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
  ...inFile('src/departures/door-state.ts', [
    [
      'reads a switch nobody understands as its careful side',
      "data.breaker === undefined || data.breaker === 'closed' ? 'closed' : 'open'",
      "data.breaker === 'open' ? 'open' : 'closed'",
    ],
    [
      'reads a switch nobody understands as its careful side',
      "data.paused !== undefined && data.paused !== 'false'",
      "data.paused === 'true'",
    ],
    [
      'reads a switch nobody understands as its careful side',
      "data.dryRun !== undefined && data.dryRun !== 'false'",
      "data.dryRun === 'true'",
    ],
  ]),
  ...inFile('src/departures/budget.ts', [
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
      'if (at < this.#since || this.#counted.has(record)) return',
      'if (at < this.#since) return',
    ],
  ]),
  ...inFile('src/departures/subject.ts', [
    [
      'spares an object that changes in the very moment of its deletion',
      '          uid,\n          resourceVersion,\n',
      '          uid,\n',
    ],
    [
      'spares an object made anew in the very moment of its deletion',
      '          uid,\n          resourceVersion,\n',
      '',
    ],
    [
      'spares an object that changes in the very moment of its deletion',
      "if (isStatusError(error, 'Conflict')) return 'changed'",
      "if (isStatusError(error, 'Conflict')) return 'gone'",
    ],
    ['stays while something in it is opted out', "case 'namespaces':", "case 'none':"],
  ]),
  ...inFile('src/departures/company.ts', [
    ['is everything in it, each once whatever the versions of its kind', 'type.namespaced &&', ''],
    [
      'is everything in it, each once whatever the versions of its kind',
      "['list', 'delete'].every((verb) => type.verbs.includes(verb)) &&",
      '',
    ],
    [
      'is everything in it, each once whatever the versions of its kind',
      'return kept.filter((type, index) => kept.findIndex((other) => groupResource(other) === groupResource(type)) === index)',
      'return kept',
    ],
    ['is nothing that only tells of the others', '!tellsOfOthers.has(groupResource(type)),', 'true,'],
    [
      'is nothing that the cluster makes anew by itself',
      'return isMadeByCluster || furnishings.has(`${kind}/${name}`)',
      'return furnishings.has(`${kind}/${name}`)',
    ],
    [
      'is nothing that the cluster makes anew by itself',
      'return isMadeByCluster || furnishings.has(`${kind}/${name}`)',
      'return isMadeByCluster',
    ],
    ['is what somebody’s own controller made', '&& remaking.has(parseApiVersion(controller.apiVersion).group)', ''],
    [
      'is what somebody’s own controller made',
      'ownerReferences.find((owner) => owner.controller)',
      'ownerReferences[0]',
    ],
    [
      'stays while it cannot be known what is in it',
      'of keptTypes(await client.discovery.complete())',
      'of keptTypes(await client.discovery.all().then((all) => all.filter(({ plural }) => plural !== "secrets")))',
    ],
  ]),
  ...inFile('src/departures/subject.ts', [
    [
      'stays while an object of its kind is marked to be kept',
      "case 'customresourcedefinitions.apiextensions.k8s.io':",
      "case 'no-definitions':",
    ],
  ]),
  ...inFile('src/departures/living-owners.ts', [
    [
      'gives what comes back to its owner that has stayed, and says when that has gone',
      'const isMeant = found.metadata.uid === uid || isBroughtBack(found, uid)',
      'const isMeant = true',
    ],
    [
      'gives what comes back to its owner that another restore has brought back',
      'found.metadata.uid === uid || isBroughtBack(found, uid)',
      'found.metadata.uid === uid',
    ],
  ]),
  ...inFile('src/departures/follow.ts', [
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
      "if (!now) return 'gone'\n    ;(judged.metadata as { uid: string }).uid = now.metadata.uid\n    return follow(client, type, { ...judged, metadata: now.metadata }, { propagation: propagationPolicy })",
    ],
    [
      'have no record of their own',
      '{ uid, resourceVersion, propagationPolicy, cascadeRecord }',
      '{ uid, resourceVersion, propagationPolicy }',
    ],
  ]),
  ...inFile('src/departures/own-machinery.ts', [
    [
      'refuses to remove what is not our own',
      'if (!isOwn(type, labels)) throw',
      'if (!isOwn(type, labels) && name === "") throw',
    ],
    ['leaves what was made anew under the name of our own', '{ uid, resourceVersion }', '{}'],
  ]),
  ...inFile('src/departures/record.ts', [
    ['never holds the data of a Secret', 'if (!isSecret(object)) return manifest', 'return manifest'],
    [
      'never holds the data of a Secret',
      'if (!annotations || !isSecret(object)) return annotations',
      'return annotations',
    ],
  ]),
  ...inFile('src/departures/adopt.ts', [
    ['hears what they may not keep from leaving', 'if (!isStatusError(error)) throw error', 'throw error'],
    ['hears what they may not keep from leaving', "if (!isStatusError(error, 'Forbidden')) throw error", 'throw error'],
  ]),
  ...inFile('src/departures/restore.ts', [
    [
      'keeps all of it when none has come by yet',
      'const adopted = await adopt(target, lines, newUids)',
      'const adopted: readonly string[] = []',
    ],
    [
      'has what goes in the very moment back, too',
      'const stays = found && (await rejoin(target, type, { object: found, newUids }))',
      'const stays = found',
    ],
    [
      'hears that more has left meanwhile',
      'if ((now.spec.pages ?? 0) <= (spec.pages ?? 0)) return []',
      'if (now.spec !== spec) return []',
    ],
    [
      'changes nothing when a part of it exists again',
      'if (problems.length > 0) throw',
      'if (problems.length < 0) throw',
    ],
    ['changes nothing when its namespace is gone', 'if (problems.length > 0) throw', 'if (problems.length < 0) throw'],
    [
      'says what was restored before, and as what',
      "record.status?.phase === 'Restored' && lines.every",
      "record.status?.phase === 'Restored' && !lines.every",
    ],
    [
      'comes out whole when two ask for it at once',
      'if (!isBroughtBack(found, line.uid) && !isRemadeFor(found, new Set(newUids.values()))) throw error',
      'if (!isRemadeFor(found, new Set(newUids.values()))) throw error',
    ],
    [
      'refuses a page, a record of another cluster and one without manifests',
      'if (cluster && !into)',
      'if (cluster === "" && !into)',
    ],
    [
      'says what could not be tried before it was there and is not taken now',
      'if (second.problems.size > 0) throw',
      'if (second.problems.size < 0) throw',
    ],
    ['waits until its kind is served', 'kinds = await whenServed(target, lines, wave)', ''],
    [
      'comes back with what it needed by one restore, and stays, bound anew',
      'await unpin(client, bonds.pinned, lines)',
      '[]',
    ],
    ['by itself changes nothing, and says with what it comes back', 'problems.push(...bonds.problems)', ''],
    [
      'refuses what was brought back for another object of that name',
      'if (each === record) problems.push(...against)',
      '',
    ],
    [
      'stays away where somebody has made it anew',
      'if (each === record || against.length === 0) coming.set(each, lines)',
      'if (each !== undefined) coming.set(each, lines)',
    ],
    ['comes back with what has no namespace, too', 'kinds.definitionOf(manifest)?.uid, homes', 'undefined, homes'],
    [
      'comes back with a namespace, Bonds to one very object included',
      'neededBy(manifest)].filter(',
      'undefined].filter(',
    ],
  ]),
  ...inFile('src/departures/restored-from.ts', [
    [
      'refuses what was brought back for another object of that name',
      'metadata.annotations?.[restoredFrom]?.endsWith(`/${uid}`) ?? false',
      'metadata.annotations?.[restoredFrom] !== undefined',
    ],
  ]),
  ...inFile('src/departures/with-owners.ts', [
    [
      'brings back a whole cascade, owners first',
      'return uid === undefined ? [] : [{ ...owner, uid }]',
      'return [owner]',
    ],
    ['comes back with a namespace, Bonds to one very object included', '...renewedBond(manifest, newUid),', ''],
    ['leaves no mark of a Bond that is gone by then', '  holdFinalizer,\n', ''],
    [
      'by hand is recorded before any of its kind goes, and comes back first',
      "  'customresourcecleanup.apiextensions.k8s.io',\n",
      '',
    ],
  ]),
  ...inFile('src/departures/belongings.ts', [
    ['comes back without the rule that took it', 'if (!isDecider(record, line)) lines.push(line)', 'lines.push(line)'],
    [
      'refuses a page, a record of another cluster and one without manifests',
      'if (page) throw',
      'if (page && page.number < 0) throw',
    ],
    [
      'refuses a page, a record of another cluster and one without manifests',
      'if (!manifest && !record.spec.pages && isAskedFor) throw',
      'if (!manifest && record.spec.pages === -1) throw',
    ],
    ['comes back once, as it was last', 'if (taken.has(place) || taken.has(line.uid)) continue', ''],
    ['adds nothing of another one to a restore', ' || taken.has(line.uid)', ''],
    ['adds nothing of another one to a restore', 'if (stray && !isAskedFor) return []', ''],
    [
      'brings back nothing of another one by a page',
      'const stray = lines.find((line) => !isAtHome(record, line))',
      'const stray: PageLine | undefined = lines.find(() => false)',
    ],
    ['a record in a namespace', '!spec.object.cluster && manifest', 'manifest'],
    [
      'does not stand for what left another one',
      'this.#byPlace.get(placeOfRecord({ namespace, name }))',
      '[...this.#byPlace.values()].findLast((each) => each.name === name && namespace !== "")',
    ],
    ['knows who followed something, the newest first', 'followers.toSorted(newestFirst)', 'followers'],
    ['a definition comes back with its objects and what those owned, by one restore', '...(own ? [own] : []), ', ''],
    [
      'brings back what is in a namespace for one who may look at nothing else',
      "if (!isStatusError(error, 'Forbidden')) throw error",
      'throw error',
    ],
  ]),
  ...inFile('src/departures/coming-kinds.ts', [
    ['by hand is recorded before any of its kind goes, and comes back first', 'client.discovery.forget()', ''],
  ]),
  ...inFile('src/departures/restore-rehearsal.ts', [
    [
      'changes nothing when a namespace of those of its kind is gone',
      "return error.reason === 'NotFound' ? error.message : undefined",
      'return undefined',
    ],
    ['changes nothing when the one that was installed again does not serve them', ' && !kinds.isAwaited(line)', ''],
    ['brings those of its kind back to the one that somebody has installed again', ' || isInstalled', ''],
  ]),
  ...inFile('src/departures/restore-bonds.ts', [
    ['heeds no Bond that may not speak', '?? sojournNamespace) !==', '?? metadata.namespace) !=='],
    [
      'changes nothing while a Bond names the very one that is no more',
      'isComing && spec.dependency.uid === undefined',
      'isComing',
    ],
    [
      'needs nothing else while what it needs is there',
      'dependents.length === 0 || (await isThere(client, self, uid))',
      'dependents.length === 0',
    ],
  ]),
  ...inFile('src/departures/record-leaving.ts', [
    [
      'has the one record of the system that let it go',
      'if (found && isStanding(found)) return complete(client, found, company)',
      '',
    ],
    [
      'has what came or changed after the door had read it added to its record',
      'return complete(client, found, company)',
      'return',
    ],
    [
      'that was spared before is recorded as it is now',
      "return status?.phase !== 'Abandoned'",
      'return status !== undefined',
    ],
    [
      'that was spared before is recorded as it is now',
      "if (!isStatusError(error, 'AlreadyExists')) throw error",
      'return false',
    ],
    ['keeps everything while its record is forbidden', 'if (hasNoPlace(error)) return false', 'return false'],
    [
      'keeps everything while it cannot be known what is in it',
      '(await writePages(client, wanted, company))',
      '(await writePages(client, wanted, company).catch(() => undefined))',
    ],
  ]),
  ...inFile('src/apiserver/objects/definition-cleaner.ts', [
    ['keeps all of its kind until it is recorded', '      await this.#ask(name)\n', ''],
    [
      'keeps all of its kind until it is recorded',
      'await this.#report(definition, error instanceof Error ? error.message : String(error))',
      '',
    ],
  ]),
  ...inFile('src/apiserver/objects/create-object.ts', [
    [
      'are no more in number than at the moment it was marked',
      'if (isTerminating(type, view))',
      'if (type.kind === "")',
    ],
  ]),
  ...inFile('src/systems/collector/bonds.ts', [
    [
      'stays until what it needs is recorded',
      'await recordNeeded(client, ports.clock, { type: neededType, object: needed })',
      'await Promise.resolve()',
    ],
    ['comes back with what it needed by one restore', '        follows,\n', ''],
  ]),
  ...inFile('src/departures/record.ts', [
    [
      'keeps everything while its record is forbidden',
      "isStatusError(error, 'NotFound', 'MethodNotAllowed') || isNamespaceTerminating(error)",
      "isStatusError(error, 'NotFound', 'MethodNotAllowed', 'Forbidden')",
    ],
  ]),
  ...inFile('src/departures/cascade-recorder.ts', [
    [
      'holds what two recorders write at once',
      "if (!isStatusError(error, 'AlreadyExists')) throw error",
      'return number',
    ],
    [
      'is begun once by two recorders that both find none',
      "if (isStatusError(error, 'AlreadyExists')) return this",
      "if (isStatusError(error, 'Gone')) return this",
    ],
    ['holds what two recorders write at once', '{ metadata: { resourceVersion }, spec }', '{ spec }'],
    ['lets nothing go on while', 'if (hasNoPlace(error)) return number', 'return number'],
    ['lets nothing go on while', 'if (!hasNoPlace(error)) throw error', ''],
    ['lets nothing go on while', '      forget()\n      throw error', '      throw error'],
    ['reads again how far it has got when it could not be told', 'told.catch(forget)', ''],
  ]),
  ...inFile('src/departures/pages.ts', [
    [
      'comes back without what was on pages of a try that was given up',
      'await dropPages(client, record, pages + 1)',
      '',
    ],
    [
      'has what came or changed after the door had read it added to its record',
      '!deepEqual(before, manifestOf(object))',
      'before === undefined',
    ],
    ['is recorded as it was before it went, though it is looked at again', '!deletionTimestamp && ', ''],
    [
      'has what came or changed after the door had read it added to its record',
      'for (const { uid, manifest } of lines) held.set(uid, manifest)',
      '',
    ],
  ]),
  ...inFile('src/departures/pages.ts', [
    ['is recorded as it was when it was emptied', 'await client.update(departure.type, { ...page, metadata })', ''],
    [
      'changes nothing when a page of it is missing',
      "if (isSpokenOf || !isStatusError(error, 'NotFound')) throw error",
      "if (!isStatusError(error, 'NotFound')) throw error",
    ],
    ['without the values of its Secrets', 'manifest: manifestOf(object)', 'manifest: object'],
  ]),
  ...inFile('src/departures/drain.ts', [
    ['takes off what is ours and nothing', 'metadata: { resourceVersion, finalizers:', 'metadata: { finalizers:'],
    ['leaves alone what was made anew under the same name', ' || now.metadata.uid !== uid', ''],
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
      'tells what goes the moment it is let go',
      'ours.length > 0 && ours.length === finalizers.length',
      'ours.length > 0',
    ],
  ]),
  ...inFile('src/departures/settle-controller.ts', [
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

const removals: readonly Guard[] = [
  ...inFile('src/app/removal-records.ts', [
    ['comes back across namespaces, though what it needed did not wait', ' && !isNeeded(object)', ''],
    [
      'is what nothing depends on',
      'if (!takesAlong(view, object.metadata.uid) && !isNeeded(object)) return undefined',
      '',
    ],
    ['not where there is none by that name', ' && isThere(view, cascadeRecord)', ''],
    ['is what goes with its namespace', 'if (!takesRecords(view, home)) return undefined', ''],
    ['stands in our own namespace, too', ' ?? recordAt(view, sojournNamespace, name)', ''],
    ['is nothing of which that takes too long to find out', 'if (++looks > mostLooks) return true', ''],
    ['is what only the cluster’s own making depends on', 'owners.add(dependent.uid)', ''],
    ['is what only the cluster’s own making depends on', ' && !isRemade(object)', ''],
    ['is what owns nothing but itself', 'owners.has(dependent.uid) ? undefined : ', ''],
  ]),
  ...inFile('src/departures/removed.ts', [
    ['stands when it is the door’s', 'if (found && stands(found, object)) return undefined', ''],
    [
      'is written anew where it',
      "    case 'Abandoned':\n      return false",
      "    case 'Abandoned':\n      return true",
    ],
    [
      'is written anew where it',
      'return spec.object.resourceVersion === metadata.resourceVersion',
      'return spec.object.resourceVersion !== undefined',
    ],
    ['is written anew where it', '{ ...spec, ...pagesOf(found) }', 'spec'],
    [
      'is recorded without a manifest where that is too large',
      'spec: told, status: {',
      'spec: { ...told, manifest }, status: {',
    ],
  ]),
  ...inFile('src/apiserver/objects/record-removal.ts', [
    ['is there before the object is gone', 'return [put(ports, view, { type, object: wanted.record })]', 'return []'],
    [
      'is the short one where the whole is too large',
      "if (!isStatusError(error, 'RequestEntityTooLarge')) throw error",
      'throw error',
    ],
    [
      'is nothing where its kind is not served',
      'if (!type || isTerminating(type, view)) return []',
      'if (!type) throw new Error("no")',
    ],
    ['is remembered for as long as finalizers hold an object', ' ?? notedRecord(object)', ''],
    [
      'is nothing that an object may claim itself',
      'metadata.deletionTimestamp === undefined ? undefined : metadata',
      'metadata',
    ],
    [
      'is nothing that an object may claim itself',
      'isAsked ? record : undefined',
      'isAsked ? record : object.metadata.annotations?.[cascadeRecordAnnotation]',
    ],
    [
      'is nothing that anybody may have an object claim',
      'old.metadata.deletionTimestamp === undefined ? metadata : saying(metadata, notedRecord(old))',
      'metadata',
    ],
  ]),
  ...inFile('src/apiserver/http/edge.ts', [
    [
      'lets only those say in which cascade something goes who may write its record',
      'if (cascadeRecord !== undefined) this.#require(request.user, writingOf(cascadeRecord))',
      '',
    ],
  ]),
  ...inFile('src/apiserver/objects/delete-object.ts', [
    [
      'is there before the object is gone',
      'const recorded = recordRemoval(ports, view, { object: old, cascadeRecord: manner.cascadeRecord })',
      'const recorded: never[] = []',
    ],
    [
      'is remembered for as long as finalizers hold an object',
      'isMarked(old) ? marked : noteRecord(view, marked, manner.cascadeRecord)',
      'marked',
    ],
  ]),
  ...inFile('src/apiserver/objects/revise-object.ts', [
    ['is stored when the last finalizer is taken off', '? recordRemoval(ports, view, { object: old })', '? []'],
    [
      'nor when dependents are set free instead',
      'return freeDependents(ports, view, { type, owner: old })',
      'return [...freeDependents(ports, view, { type, owner: old }), ...recordRemoval(ports, view, { object: old })]',
    ],
  ]),
  ...inFile('src/departures/cascade-recorder.ts', [
    ['are on a record that was given up before', 'found && !isGivenUp(found, root) ? found', 'found ? found'],
    [
      'is found in our own namespace',
      'of new Set([home, sojournNamespace])) {\n      const found',
      'of [home]) {\n      const found',
    ],
  ]),
]

const collector: readonly Guard[] = [
  ...inFile('src/systems/collector/decide.ts', [
    ['keeps what another owner keeps', "if (those('solid').length > 0) {", "if (those('solid').length > 99) {"],
    [
      'whose owner is missing, the one that names a served version goes',
      "if (those('unknown').length > 0) return { do: 'keep', because: 'owner-unknown' }",
      '',
    ],
    [
      'spares a dependent that is marked to be kept',
      "if (isProtected) return { do: 'keep', because: 'protected' }",
      '',
    ],
    [
      '66: a stuck dependent that blocks',
      "if (blockingDependents > 0) return { do: 'keep', because: 'dependents-remain' }",
      '',
    ],
    [
      'frees dependents of an owner that is deleted with Orphan',
      "if (finalizers.includes('orphan')) return { do: 'orphan' }",
      '',
    ],
  ]),
  ...inFile('src/systems/collector/standing.ts', [
    [
      'what has no namespace and names an owner in one is kept',
      "dependent.metadata.namespace ? 'dangling' : 'unknown'",
      "'dangling'",
    ],
    ['51: whatever else is said', "if (!isMeant) return 'elsewhere'", ''],
    [
      '64: a foreground owner',
      "deletionTimestamp && finalizers.includes('foregroundDeletion') && !isBond(dependent) ? 'waiting' : 'solid'",
      "'solid'",
    ],
    [
      'that waits for a finalizer of others keeps them',
      "deletionTimestamp && finalizers.includes('foregroundDeletion') && !isBond(dependent) ? 'waiting' : 'solid'",
      "deletionTimestamp ? 'dangling' : 'solid'",
    ],
  ]),
  ...inFile('src/systems/collector/observe.ts', [
    [
      'what has no namespace and names an owner in one is kept',
      "if (type?.namespaced && !namespace) return 'unknown'",
      '',
    ],
    [
      'whose owner is missing, the one that names a served version goes',
      "if (!type) return 'unknown'",
      "if (!type) return 'dangling'",
    ],
    [
      '34: an owner without a namespace',
      "return found.metadata.uid === uid ? 'solid' : this.#noteAbsent(coordinates)",
      'return this.#noteAbsent(coordinates)',
    ],
    [
      '97: an owner that can be neither watched nor asked for',
      "      return 'unknown'\n    }",
      "      return 'dangling'\n    }",
    ],
    [
      '80★: a ring of three',
      'return blocking.filter((dependent) => !component.has(dependent)).length',
      'return blocking.length',
    ],
    [
      '51: a wrong name for an owner that is seen late',
      "const coordinates = `${uid} ${apiVersion} ${kind} ${name} ${dependent.metadata.namespace ?? ''}`",
      'const coordinates = uid',
    ],
  ]),
  ...inFile('src/systems/collector/world-watch.ts', [
    ['33: stay watched while they cannot be read', 'if (isUnread(type) || collectable', 'if (collectable'],
    [
      '32: are none while they cannot be asked for',
      'while (!this.#unread && !signal?.aborted) {',
      'while (!this.#unread && signal === null) {',
    ],
    [
      '70: with a definition',
      "if (type === 'deleted') this.#ended.add(object.metadata.name)",
      "if (type === 'added') this.#ended.delete(object.metadata.name)",
    ],
  ]),
  ...inFile('src/systems/collector/act.ts', [
    [
      '102: is followed',
      'const { told, cascadeRecord } = await this.record(followers, root)',
      'const { told, cascadeRecord } = nothingToTell as Recorded',
    ],
    [
      'have no record of their own',
      'return this.#hand ? this.#hand.remove(type, object, manner)',
      'return this.#hand ? this.#hand.remove(type, object, { propagation: manner.propagation })',
    ],
    [
      'have none when the cluster makes them anew',
      'if (kept.length === 0) return this.#recordedElsewhere(followers, root)',
      'if (kept.length === 0) return nothingToTell',
    ],
    [
      '31: an orphan that changes',
      '{ resourceVersion, ownerReferences: kept.length > 0 ? kept : null }',
      '{ ownerReferences: kept.length > 0 ? kept : null }',
    ],
  ]),
  ...inFile('src/systems/collector/sweep.ts', [
    ['writes down as gone only what goes', '!this.#areGone(dependent, gone) || ', ''],
    ['spares a dependent that is marked to be kept', ' || spares(object) !== undefined', ''],
  ]),
  ...inFile('src/apiserver/objects/collect-object.ts', [
    [
      '50: what lives by one that is given another owner',
      'if (owners.some((owner) => isKept(view, owner, request)))',
      'if (owners.length < 0)',
    ],
  ]),
  ...inFile('src/systems/collector/bond-decide.ts', [
    [
      '112: a kind that must not be read',
      "if (dependents.are === 'unknown') return unknownDependents(observed, dependents)",
      "if (dependents.are === 'unknown') return gone(spec, 0, 0)",
    ],
    [
      '109, 110: another cluster',
      "if (dependency.is === 'unknown') return unknown(phase, isMarked ? stillHolding(dependency) : dependency)",
      "if (dependency.is === 'unknown') return gone(spec, 1, 1)",
    ],
    [
      'holds nothing up without leave',
      'return isGranted ? hold(active, dependency) : release(dependency, withoutLeave(observed, all))',
      'return hold(active, dependency)',
    ],
    [
      'guards nothing by a uid that it says itself',
      'return { ...say(phase, reason',
      "return { ...say('Active', reason",
    ],
    [
      'lets go what it held when the leave is withdrawn',
      'return isGranted ? hold(active, dependency) : release(dependency, active)',
      'return isGranted ? hold(active, dependency) : active',
    ],
    [
      'frees it though nobody can tell who needs it',
      "if (dependency.is !== 'present' || isGranted) return decision",
      'return decision',
    ],
    ['frees in one cluster, too, what nobody can tell', "{ ...decision, phase: 'Pending' }", 'decision'],
    [
      'frees what a Bond holds that waits for its dependents',
      "if (leavers > 0 && isGranted && spec.onDelete !== 'Orphan')",
      "if (leavers > 0 && spec.onDelete !== 'Orphan')",
    ],
    [
      'leave the refusal behind with a former Deny, where another holds already',
      "return isGuarded ? { ...decision, mark: 'hold' } : decision",
      'return decision',
    ],
    [
      'where its server asks Bonds itself leave nothing of a former Hold',
      "return dependency.holdsFinalizer ? { ...decision, mark: 'none' } : decision",
      'return decision',
    ],
    [
      'are taken off a copy that was made of what it needed',
      'return release(dependency, gone(spec, living, objects.length))',
      'return gone(spec, living, objects.length)',
    ],
    [
      'that came too late does not claim to hold anything',
      "if (onDelete !== 'Cascade' && !dependency.holdsFinalizer) return notHeld",
      '',
    ],
    [
      'waits for what has never been seen',
      "if (pinnedUid === undefined) return say('Pending', 'DependencyNotFound', 'what it needs has not been seen yet')",
      '',
    ],
  ]),
  ...inFile('src/systems/collector/bond-observe.ts', [
    ['109, 110: another cluster', 'if (now - since >= confirmMs) return undefined', 'return undefined'],
    [
      'speaks for nothing cluster-scoped',
      'if (!type.namespaced && metadata.namespace !== sojournNamespace)',
      'if (!type.namespaced && metadata.namespace === "")',
    ],
    [
      'gains no power over another namespace',
      "if (origin === '' && there === namespace) return { isGranted: true }",
      'return { isGranted: true }',
    ],
    ['takes no other leave for its own', "if (origin === '' && there === namespace)", 'if (there === namespace)'],
    [
      'when another cluster answers under the name of the one where it was',
      'if (isOther(status, there)) return unseen(anotherCluster(cluster))',
      '',
    ],
    [
      'when another cluster no longer serves the version by which it was found',
      'home.discovery.forget(manifest.apiVersion)',
      '',
    ],
    [
      'leave its namespace together with it, whoever let it go',
      'if (!found) return this.#absent(home, metadata, { cluster, namespace })',
      "if (!found) return unseen({ is: 'absent' })",
    ],
    [
      'are not waited for by a Bond that needs something for itself',
      '.filter((object) => object.metadata.uid !== metadata.uid)',
      '',
    ],
    [
      'that does not answer keeps no other Bond waiting',
      'return await patiently(clock, () => this.#look(home, self))',
      'return await this.#look(home, self)',
    ],
    [
      'uses no way into a cluster that another namespace has and does not lend',
      'if (unlent) return unseen(unlent)',
      '',
    ],
    ['takes no other leave for its own', 'grants(grantor, namespace, origin)', 'grants(grantor, namespace)'],
    [
      'goes on holding while nobody can say whether it has leave',
      ": ignoring('NotFound')\n    const grantor",
      ": ignoring('NotFound', 'Forbidden')\n    const grantor",
    ],
    [
      'goes on holding there while nobody can say whether it has leave',
      "origin !== '' && !isHeld ? ignoring",
      "origin !== '' ? ignoring",
    ],
  ]),
  ...inFile('src/systems/collector/bond-act.ts', [
    [
      'takes no mark off but its own',
      'const others = finalizers.filter((name) => !isHoldFrom(origin, name))',
      "const others = finalizers.filter((name) => !isHoldFrom(origin, name) && !isHoldFrom('', name))",
    ],
    [
      'are put on again where somebody took half of them off',
      "(inUseBy === '' || labels[inUseLabel] !== undefined)",
      'labels !== undefined',
    ],
    [
      'leaves the label to that cluster’s own Bonds',
      '...(isGuardedBeside(origin, metadata) ? {} : { labels: { [inUseLabel]: null } }),',
      'labels: { [inUseLabel]: null },',
    ],
  ]),
  ...inFile('src/systems/collector/bonds.ts', [
    [
      'says whom to ask where it may not put its mark',
      "decision.phase === 'Released' && !isRefused)",
      "decision.phase === 'Released')",
    ],
    [
      'are never put on for a Bond that was gone before it could be kept',
      'if (!(await setBondFinalizer(client, self, true))) return settled',
      'await setBondFinalizer(client, self, true)',
    ],
    [
      'frees what several hold, none for the others',
      'const others = await withLeave(dependency, rivals)',
      'const others = rivals',
    ],
    [
      'holds nothing by another cluster of its own',
      'const others = await withLeave(dependency, rivals)',
      'const others = rivals',
    ],
    ['gets none by another that has it', 'grants(object, each.metadata.namespace, origin)', 'true'],
  ]),
  ...inFile('src/app/bond-admission.ts', [
    [
      'Deny: is refused there',
      'if (denying.length === 0 && elsewhere === undefined) return',
      'if (denying.length === 0) return',
    ],
    ['keeps nothing waiting for what follows it', '&& mayHoldUp(metadata.namespace, object, view)', ''],
  ]),
  ...inFile('src/app/bond-authorizer.ts', [
    [
      'gains no power through a Bond that its maker does not have',
      'served.kind.toLowerCase() === kind.toLowerCase()',
      'served.kind === kind',
    ],
  ]),
  ...inFile('src/apis/bond.ts', [['cannot come to need something else', "rule: 'self == oldSelf'", "rule: 'true'"]]),
]

/** Every guard of the door, and those of the collector that keep something from being deleted or released. */
export const guards: readonly Guard[] = [...door, ...judge, ...protection, ...others, ...removals, ...collector]
