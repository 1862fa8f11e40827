import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** Guards of the collector that keep something from being deleted or released. */
export const collectorGuards: readonly Guard[] = [
  ...inFile('src/systems/collector/owners/decide.ts', [
    ['keeps what another owner keeps', "if (strongest === 'solid') {", "if (strongest === 'none') {"],
    [
      'whose owner is missing, the one that names a served version goes',
      "if (strongest === 'unknown') return { do: 'keep', because: 'owner-unknown' }",
      '',
    ],
    ['keeps a dependent that is marked to be kept', "if (isProtected) return { do: 'keep', because: 'protected' }", ''],
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
  ...inFile('src/kube/owner-rule.ts', [
    [
      'what has no namespace and names an owner in one is kept',
      "return namespace ? 'dangling' : 'unknown'",
      "return 'dangling'",
    ],
    ['51: whatever else is said', "if (!isNamedOwner) return 'mismatch'", ''],
    ['64: a foreground owner', "isForegroundDeletion(owner) && !outlivesForeground ? 'waiting' : 'solid'", "'solid'"],
    [
      'that waits for a finalizer of others keeps them',
      "isForegroundDeletion(owner) && !outlivesForeground ? 'waiting' : 'solid'",
      "metadata.deletionTimestamp ? 'dangling' : 'solid'",
    ],
  ]),
  ...inFile('src/systems/collector/owners/observe.ts', [
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
  ...inFile('src/app/core/in-process-deleter.ts', [
    ['keeps its owner until it is gone itself', 'view.countBlocking(uid) > 0 &&', 'view.countBlocking(uid) < 0 &&'],
  ]),
  ...inFile('src/systems/collector/watch/cluster-watch.ts', [
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
  ...inFile('src/systems/collector/owners/dependent-deleter.ts', [
    [
      'is deleted with it, whatever the second name says',
      '(reference) => !references.includes(reference)',
      '({ uid }) => !references.some((reference) => reference.uid === uid)',
    ],
    [
      '102: is followed',
      'const { counted, cascadeRecord } = await this.recorder.record(followers, root)',
      'const { counted, cascadeRecord } = { counted: Promise.resolve(), cascadeRecord: undefined }',
    ],
    [
      'have none when they leave something behind that is kept, in the foreground',
      '? this.#inProcessDeleter.remove(type, object, options)',
      '? this.#inProcessDeleter.remove(type, object, { propagation: options.propagation })',
    ],
    [
      '31: an orphan that changes',
      '{ resourceVersion, ownerReferences: kept.length > 0 ? kept : null }',
      '{ ownerReferences: kept.length > 0 ? kept : null }',
    ],
  ]),
  ...inFile('src/departures/records/cascade-recorder.ts', [
    [
      'have none when the cluster recreates them',
      'if (restorable.length === 0) return this.#withoutPage(followers, root)',
      'if (restorable.length === 0) return notRecorded',
    ],
  ]),
  ...inFile('src/systems/collector/owners/sweep.ts', [
    ['writes down as gone only what goes', 'this.#isKept(dependent, gone) || ', ''],
    ['keeps a dependent that is marked to be kept', ' || reasonToKeep(object) !== undefined', ''],
  ]),
  ...inFile('src/apiserver/objects/delete/delete-object.ts', [
    [
      '50: what lives by one that is given another owner',
      'if (owners.some((reference) => isKeptBy(view, reference, unowned)))',
      'if (owners.length < 0)',
    ],
  ]),
  ...inFile('src/systems/collector/bonds/bond-decide.ts', [
    [
      '112: a kind that must not be read',
      "if (dependents.are === 'unknown') return unknownDependents(observed, dependents)",
      "if (dependents.are === 'unknown') return dependencyGone(spec, 0, 0)",
    ],
    [
      '109, 110: another cluster',
      "if (dependency.is === 'unknown') return unknown(phase, isMarked ? stillHolding(dependency) : dependency)",
      "if (dependency.is === 'unknown') return dependencyGone(spec, 1, 1)",
    ],
    [
      'holds nothing without permission',
      'return isGranted ? hold(active, dependency) : release(dependency, withoutPermission(observed, all))',
      'return hold(active, dependency)',
    ],
    [
      'guards nothing by a uid that it says itself',
      'return { ...say(phase, reason',
      "return { ...say('Active', reason",
    ],
    [
      'releases what it held when the permission is withdrawn',
      'return isGranted ? hold(active, dependency) : release(dependency, active)',
      'return isGranted ? hold(active, dependency) : active',
    ],
    [
      'releases it although its dependents are unknown',
      "if (dependency.is !== 'present' || isGranted) return decision",
      'return decision',
    ],
    ['releases within one cluster, too, although', "{ ...decision, phase: 'Pending' }", 'decision'],
    [
      'frees what a Bond holds that waits for its dependents',
      "if (terminating > 0 && isGranted && spec.onDelete !== 'Orphan')",
      "if (terminating > 0 && spec.onDelete !== 'Orphan')",
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
      'return release(dependency, dependencyGone(spec, living, objects.length))',
      'return dependencyGone(spec, living, objects.length)',
    ],
    [
      'that came too late does not claim to hold anything',
      "if (onDelete !== 'Cascade' && !dependency.holdsFinalizer) return notHeld",
      '',
    ],
    [
      'waits for what has never been seen',
      "if (pinnedUid === undefined) return say('Pending', 'DependencyNotFound', 'the dependency has not been found yet')",
      '',
    ],
  ]),
  ...inFile('src/systems/collector/bonds/bond-observe.ts', [
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
    ['takes no other permission for its own', "if (origin === '' && there === namespace)", 'if (there === namespace)'],
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
      'are taken off its namespace when it is deleted, by Sojourn or by a user',
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
      'return await withTimeout(clock, () => this.#read(home, self))',
      'return await this.#read(home, self)',
    ],
    [
      'uses no way into a cluster that another namespace has and does not lend',
      'if (notLent) return unseen(notLent)',
      '',
    ],
    ['takes no other permission for its own', 'grants(grantor, namespace, origin)', 'grants(grantor, namespace)'],
    [
      'goes on holding while its permission is unknown',
      ": ignoring('NotFound')\n    const grantor",
      ": ignoring('NotFound', 'Forbidden')\n    const grantor",
    ],
    [
      'goes on holding there while its permission is unknown',
      "origin !== '' && !isHeld ? ignoring",
      "origin !== '' ? ignoring",
    ],
  ]),
  ...inFile('src/systems/collector/bonds/bond-marker.ts', [
    [
      'takes no mark off but its own',
      'const others = finalizers.filter((name) => !isHoldFrom(origin, name))',
      "const others = finalizers.filter((name) => !isHoldFrom(origin, name) && !isHoldFrom('', name))",
    ],
    [
      'are put on again where a user took half of them off',
      "(inUseBy === '' || labels[inUseLabel] !== undefined)",
      'labels !== undefined',
    ],
    [
      'leaves the label to that cluster’s own Bonds',
      '...(isGuardedBeside(origin, metadata) ? {} : { labels: { [inUseLabel]: null } }),',
      'labels: { [inUseLabel]: null },',
    ],
  ]),
  ...inFile('src/systems/collector/bonds/bond-controller.ts', [
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
  ]),
  ...inFile('src/systems/collector/bonds/bond-marker.ts', [
    [
      'frees what several hold, none for the others',
      'const others = await permittedBonds(dependency, rivals)',
      'const others = rivals',
    ],
    [
      'holds nothing by another cluster of its own',
      'const others = await permittedBonds(dependency, rivals)',
      'const others = rivals',
    ],
    ['gets none by another that has it', 'grants(object, each.metadata.namespace, origin)', 'true'],
  ]),
  ...inFile('src/admission/bond-admission.ts', [
    [
      'Deny: is refused there',
      'if (denying.length === 0 && elsewhere === undefined) return',
      'if (denying.length === 0) return',
    ],
    ['keeps nothing waiting for what follows it', '&& mayHoldUp(metadata.namespace, object, view)', ''],
  ]),
  ...inFile('src/admission/bond-authorizer.ts', [
    [
      'gains no power through a Bond that its maker does not have',
      'served.kind.toLowerCase() === kind.toLowerCase()',
      'served.kind === kind',
    ],
  ]),
  ...inFile('src/apis/bond.ts', [['cannot come to need something else', "rule: 'self == oldSelf'", "rule: 'true'"]]),
]
