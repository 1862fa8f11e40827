import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** Guards of what is recorded before it goes, and of what comes back. */
export const recordGuards: readonly Guard[] = [
  ...inFile('src/departures/restore/restore-set.ts', [
    ['returns the Cleaner suspended, its targets', 'suspend: true', 'suspend: false'],
  ]),
  ...inFile('src/helm/restorable-record.ts', [
    ['keeps no value of a Secret in any record', "if (object.kind !== 'Secret') return object", 'return object'],
  ]),
  ...inFile('src/systems/cleaner/delete-targets.ts', [
    [
      'returns the Cleaner suspended, its targets',
      "because: 'target',\n    follows: self.metadata.uid,",
      "because: 'target',",
    ],
  ]),
  ...inFile('src/departures/restore/adopt.ts', [
    ['hears what they may not keep from leaving', 'if (!isStatusError(error)) throw error\n  }', 'throw error\n  }'],
    ['hears what they may not keep from leaving', "if (!isStatusError(error, 'Forbidden')) throw error", 'throw error'],
  ]),
  ...inFile('src/departures/restore/restore.ts', [
    [
      'keeps all of it when none has come by yet',
      'const adopted = await adoptDependents(target, lines, newUids)',
      'const adopted: readonly string[] = []',
    ],
    [
      'has what goes in the very moment back, too',
      'const stays = found && (await updateOwnerUids(target, type, { object: found, newUids }))',
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
      'if (!isRestoredFrom(found, line.uid) && !isRecreatedFor(found, new Set(newUids.values()))) throw error',
      'if (!isRecreatedFor(found, new Set(newUids.values()))) throw error',
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
      'is not restored where a user has created it again',
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
  ...inFile('src/departures/restore/manifest-for-create.ts', [
    [
      'refuses what was brought back for another object of that name',
      'metadata.annotations?.[restoredFrom]?.endsWith(`/${uid}`) ?? false',
      'metadata.annotations?.[restoredFrom] !== undefined',
    ],
  ]),
  ...inFile('src/departures/restore/adopt.ts', [
    [
      'brings back a whole cascade, owners first',
      'return uid === undefined ? [] : [{ ...owner, uid }]',
      'return [owner]',
    ],
    ['comes back with a namespace, Bonds to one very object included', '...renewedBond(manifest, newUid),', ''],
    ['leaves no mark of a Bond that is gone by then', ' && !isOurFinalizer(finalizer)', ''],
    [
      'by hand is recorded before any of its kind goes, and comes back first',
      ", 'customresourcecleanup.apiextensions.k8s.io'",
      '',
    ],
  ]),
  ...inFile('src/departures/restore/restore-set.ts', [
    ['comes back without the rule that took it', 'if (!isDecider(record, line) && ', 'if ('],
    ['are restored one by one', '(isAll || decidedBy === line.decidedBy)', 'record'],
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
      'restores nothing of another one by a page',
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
  ...inFile('src/departures/restore/restored-kinds.ts', [
    ['by hand is recorded before any of its kind goes, and comes back first', 'client.discovery.forget()', ''],
  ]),
  ...inFile('src/departures/restore/restore-rehearsal.ts', [
    [
      'changes nothing when a namespace of those of its kind is gone',
      "return error.reason === 'NotFound' ? error.message : undefined",
      'return undefined',
    ],
    ['changes nothing when the one that was installed again does not serve them', ' && !kinds.isAwaited(line)', ''],
    ['restores its instances to a definition that a user has installed again', ' || isInstalled', ''],
  ]),
  ...inFile('src/departures/restore/restore-bonds.ts', [
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
  ...inFile('src/departures/records/record-writer.ts', [
    [
      'deletes an object that was kept before',
      'if (isCurrent && hasPages && isStanding(found)) return found',
      'return found',
    ],
    [
      'records an object as it is when it is deleted',
      'const isCurrent = found.spec.object.resourceVersion === record.spec.object.resourceVersion',
      'const isCurrent = true',
    ],
    [
      'is begun once by two recorders that both find none',
      "if (isStatusError(error, 'AlreadyExists')) return this.#client",
      "if (isStatusError(error, 'Gone')) return this.#client",
    ],
    [
      'holds what two recorders write at once',
      'const body = { metadata: { resourceVersion: at.metadata.resourceVersion }, spec }',
      'const body = { spec }',
    ],
    ['lets nothing go on while', 'if (hasNoPlace(error)) return first', 'return first'],
    ['lets nothing go on while', 'if (!hasNoPlace(error)) throw error', ''],
    [
      'is found in our own namespace',
      "of new Set([recordNamespace('', object), sojournNamespace])) {",
      "of [recordNamespace('', object)]) {",
    ],
    [
      'has the one record of the system that deletes it',
      'if (found && isStanding(found)) return this.#addMissing(found, contents)',
      '',
    ],
    [
      'has what came or changed after the door had read it added to its record',
      'return this.#addMissing(found, contents)',
      'return',
    ],
    [
      'that was kept before is recorded as it is now',
      "return status?.phase !== 'Abandoned'",
      'return status !== undefined',
    ],
    [
      'that was kept before is recorded as it is now',
      "if (!isStatusError(error, 'AlreadyExists')) throw error\n    }\n    return true",
      'return false\n    }\n    return true',
    ],
    ['keeps everything while its record is forbidden', 'if (hasNoPlace(error)) return false', 'return false'],
    [
      'keeps everything while it cannot be known what is in it',
      '(await writePages(this.#ports, record, contents))',
      '(await writePages(this.#ports, record, contents).catch(() => undefined))',
    ],
  ]),
  ...inFile('src/apiserver/objects/upkeep/definition-cleaner.ts', [
    ['keeps all of its kind until it is recorded', '      await this.#ask(name)\n', ''],
    [
      'keeps all of its kind until it is recorded',
      'await this.#report(definition, error instanceof Error ? error.message : String(error))',
      '',
    ],
  ]),
  ...inFile('src/apiserver/objects/write/create-object.ts', [
    [
      'are no more in number than at the moment it was marked',
      'if (isTerminating(type, view))',
      'if (type.kind === "")',
    ],
  ]),
  ...inFile('src/systems/collector/bonds/bond-controller.ts', [
    [
      'stays until what it needs is recorded',
      'await this.#writer.recordNeeded(neededType, needed, ports.clock.now())',
      'await Promise.resolve()',
    ],
    ['comes back with what it needed by one restore', '      follows,\n      by:', '      by:'],
  ]),
  ...inFile('src/departures/records/record.ts', [
    [
      'keeps everything while its record is forbidden',
      "isStatusError(error, 'NotFound', 'MethodNotAllowed') || isNamespaceTerminating(error)",
      "isStatusError(error, 'NotFound', 'MethodNotAllowed', 'Forbidden')",
    ],
  ]),
  ...inFile('src/departures/records/cascade-recorder.ts', [
    ['lets nothing go on while', '      forget()\n      throw error', '      throw error'],
    ['reads again how far it has got when it could not be told', 'counted.catch(forget)', ''],
  ]),
  ...inFile('src/departures/records/pages.ts', [
    ['holds what two recorders write at once', 'if (written) return number', 'return number'],
    [
      'comes back without what was on pages of a try that was given up',
      'await dropPages(client, departurePage.type, record, pages + 1)',
      '',
    ],
    [
      'has what came or changed after the door had read it added to its record',
      '!deepEqual(before.manifest, manifestOf(object))',
      'before.manifest === undefined',
    ],
    [
      'is recorded as it was before its deletion, although it is read again',
      'else if (deletionTimestamp) continue',
      '',
    ],
    [
      'has what came or changed after the door had read it added to its record',
      'for (const line of lines) held.set(line.uid, line)',
      '',
    ],
  ]),
  ...inFile('src/departures/records/pages.ts', [
    ['is recorded as it was when it was emptied', 'await client.update(departurePage.type, { ...page, metadata })', ''],
    [
      'changes nothing when a page of it is missing',
      "if (isMissing || !isStatusError(error, 'NotFound')) throw error",
      "if (!isStatusError(error, 'NotFound')) throw error",
    ],
    ['without the values of its Secrets', 'manifest: manifestOf(object)', 'manifest: object'],
    ['comes back as it was last', '!(await isSealedAs(before, object, keys))', 'before === undefined'],
    [
      'writes what hardly compresses on as many pages',
      'if (batch.length > 0 && size + added > pageBytes) {',
      'if (!size) {',
    ],
  ]),
  ...inFile('src/departures/records/record-keys.ts', [
    ['open nothing for an object of another', "metadata.name ?? '', uid", "'', uid"],
    ['open nothing for an object of another', "metadata.namespace ?? '', ", "'', "],
    ['open nothing for an object of another', "metadata.name ?? '', uid", "metadata.name ?? '', ''"],
    [
      'gives its data to no object of another kind',
      'isSecret(manifest) ? seal.open(purposeOf(manifest, uid), data) : undefined',
      'seal.open(purposeOf(manifest, uid), data)',
    ],
    ['encrypt with the last name', 'const last = names.at(-1)', 'const last = names.at(0)'],
    ['no token that Kubernetes issues again', " && object.type !== 'kubernetes.io/service-account-token'", ''],
  ]),
  ...inFile('src/departures/door/door.ts', [
    ['is held while there is no key', 'const keys = await this.#writer.keysFor(object)', 'const keys = undefined'],
  ]),
  ...inFile('src/departures/door/depart-together.ts', [
    ['delete Secrets', "if (keys === 'missing') return false", "if (keys === 'missing') return true"],
  ]),
  ...inFile('src/departures/restore/data-opener.ts', [
    ['for a user who may not read the keys', 'if (!(error instanceof RecordKeyError)) throw error', 'throw error'],
  ]),
  ...inFile('src/departures/records/pages.ts', [
    ['brings back what version 0.1.0 recorded', "if (old) yield await linesOn(old.spec.page?.manifests ?? '')", ''],
  ]),
  ...inFile('src/app/embedded/user-deletion-records.ts', [
    ['comes back across namespaces, though what it needed did not wait', ' && !isNeeded(object)', ''],
    [
      'an object on which nothing depends',
      'if (!hasRestorableDependents(view, object.metadata.uid) && !isNeeded(object)) return undefined',
      '',
    ],
    ['if a record of that name exists', ' && isStored(view, cascadeRecord)', ''],
    ['an object deleted with its namespace', 'if (!takesRecords(view, namespace)) return undefined', ''],
    ['is kept in sojourn-system, too', ' ?? recordAt(view, sojournNamespace, name)', ''],
    ['no object whose dependents take too long to search', 'if (++looks > maxLooks) return true', ''],
    ['an object with only controller-recreated dependents', 'owners.add(dependent.uid)', ''],
    ['an object with only controller-recreated dependents', ' && !isRecreatedByController(object)', ''],
    ['an object that owns only itself', 'owners.has(dependent.uid) ? undefined : ', ''],
  ]),
  ...inFile('src/departures/records/record.ts', [
    ['is kept when the Door wrote it', 'if (found && describesDeletion(found, object)) return undefined', ''],
    ['is replaced if it', "    case 'Abandoned':\n      return false", "    case 'Abandoned':\n      return true"],
    [
      'is replaced if it',
      'return spec.object.resourceVersion === metadata.resourceVersion',
      'return spec.object.resourceVersion !== undefined',
    ],
    ['is replaced if it', '{ ...spec, ...pagesOf(found) }', 'spec'],
    [
      'is recorded without a manifest if that is too large',
      'spec: rest, status: {',
      'spec: { ...rest, manifest }, status: {',
    ],
  ]),
  ...inFile('src/apiserver/objects/ending/store-deletion-record.ts', [
    [
      'is stored before the object is gone',
      'return [putRecord(ports, view, { type, object: wanted.record })]',
      'return []',
    ],
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
    ['is remembered for as long as finalizers hold an object', ' ?? notedRecord(records, object)', ''],
    [
      'is nothing that a client may set beforehand',
      'records && metadata.deletionTimestamp !== undefined ? metadata',
      'records ? metadata',
    ],
    [
      'is nothing that a client may set beforehand',
      'isNeeded ? record : undefined',
      "isNeeded ? record : object.metadata.annotations?.[deletionRecords?.annotation ?? '']",
    ],
    [
      'is nothing that a client may set or remove',
      'if (old.metadata.deletionTimestamp === undefined) return metadata',
      'return metadata',
    ],
  ]),
  ...inFile('src/apiserver/http/edge.ts', [
    [
      "lets only users who may write a cascade's record name it in a delete",
      'if (recordAccess) this.#requireAccess(request.user, recordAccess)',
      '',
    ],
  ]),
  ...inFile('src/apiserver/objects/delete/delete-object.ts', [
    [
      'is stored before the object is gone',
      'const recorded = storeDeletionRecord(ports, view, { object: old, cascadeRecord: options.cascadeRecord })',
      'const recorded: never[] = []',
    ],
    [
      'is remembered for as long as finalizers hold an object',
      'isMarked(old) ? marked : noteRecord(ports, view, { object: marked, record: options.cascadeRecord })',
      'marked',
    ],
  ]),
  ...inFile('src/apiserver/objects/write/revise-object.ts', [
    ['is stored when the last finalizer is taken off', '? storeDeletionRecord(ports, view, { object: old })', '? []'],
    [
      'nor when dependents are set free instead',
      'return freeDependents(ports, view, { type, owner: old })',
      'return [...freeDependents(ports, view, { type, owner: old }), ...storeDeletionRecord(ports, view, { object: old })]',
    ],
  ]),
  ...inFile('src/departures/records/cascade-recorder.ts', [
    ['are on a record that was given up before', 'found && !isAbandoned(found, root) ? found', 'found ? found'],
  ]),
]
