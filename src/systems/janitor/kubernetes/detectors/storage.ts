import { kindAndName, namespacedName, unlessCustomUse, type Detector } from '../references/detector.ts'
import { unused, used } from '../../model/resource.ts'
import { ephemeralClaims, hasController, podSourceKinds, podSources, referencesOf } from '../references/pod-specs.ts'

/** Claims: in use when a pod or template mounts them, a StatefulSet would again, or another claim is a copy of them. */
export const claimDetector: Detector = {
  kinds: ['PersistentVolumeClaim'],
  needs: [...podSourceKinds, 'persistentvolumeclaims'],
  prepare(cluster) {
    const claims = new Map<string, string>()
    for (const { owner, namespace, spec } of podSources(cluster))
      for (const { kind, name, where } of referencesOf(spec)) {
        const place = namespacedName(namespace, name)
        if (kind === 'PersistentVolumeClaim' && !(hasController(owner) && claims.has(place)))
          claims.set(place, `${kindAndName(owner)} (${where})`)
      }
    for (const pod of cluster.list('pods'))
      for (const name of ephemeralClaims(pod))
        claims.set(namespacedName(pod.metadata.namespace, name), kindAndName(pod))
    for (const claim of cluster.list('persistentvolumeclaims')) {
      const { dataSource, dataSourceRef } = (claim.spec ?? {}) as Record<
        'dataSource' | 'dataSourceRef',
        Source | undefined
      >
      for (const source of [dataSource, dataSourceRef])
        if (source?.kind === 'PersistentVolumeClaim')
          claims.set(
            namespacedName(source.namespace ?? claim.metadata.namespace, source.name ?? ''),
            kindAndName(claim),
          )
    }
    const prefixes = new Map<string, string>()
    for (const set of cluster.list('statefulsets')) {
      const { volumeClaimTemplates = [] } = set.spec as { volumeClaimTemplates?: { metadata?: { name?: string } }[] }
      for (const { metadata } of volumeClaimTemplates)
        prefixes.set(
          namespacedName(set.metadata.namespace, `${metadata?.name ?? ''}-${set.metadata.name}`),
          kindAndName(set),
        )
    }
    return (object) => {
      const { name, namespace } = object.metadata
      const ordinal = /^(.*)-\d+$/.exec(name)?.[1]
      const by =
        claims.get(namespacedName(namespace, name)) ??
        (ordinal === undefined ? undefined : prefixes.get(namespacedName(namespace, ordinal)))
      return by ? used(by) : cluster.customUse(name)
    }
  },
}

interface Source {
  readonly kind?: string
  readonly name?: string
  readonly namespace?: string
}

/** Volumes: in use while bound to a claim, or meant for one. */
export const volumeDetector: Detector = {
  kinds: ['PersistentVolume'],
  needs: ['persistentvolumeclaims'],
  prepare(cluster) {
    const claims = new Set(cluster.list('persistentvolumeclaims').map(({ metadata }) => metadata.uid))
    const wanted = new Map(
      cluster
        .list('persistentvolumeclaims')
        .map((claim) => [(claim.spec as { volumeName?: string } | undefined)?.volumeName, kindAndName(claim)]),
    )
    return ({ metadata, spec, status }) => {
      const { claimRef } = spec as { claimRef?: { uid?: string; namespace?: string; name?: string } }
      const by = wanted.get(metadata.name)
      if (by !== undefined) return used(by)
      // Without a uid the claim has not come yet: the volume is kept for it.
      if (claimRef && !claimRef.uid) return used(`a claim ${claimRef.namespace}/${claimRef.name} to come`)
      const { phase = 'Pending' } = (status ?? {}) as { phase?: string }
      if (claimRef?.uid !== undefined && claims.has(claimRef.uid))
        return used(`PersistentVolumeClaim ${claimRef.namespace}/${claimRef.name}`)
      return phase === 'Bound' || phase === 'Pending'
        ? used(`its phase ${phase}`)
        : unused(`it is ${phase.toLowerCase()}`)
    }
  },
}

/** Classes of storage: in use while a volume, claim or claim template names them, or claims get them by default. */
export const storageClassDetector: Detector = {
  kinds: ['StorageClass.storage.k8s.io'],
  needs: [...podSourceKinds, 'persistentvolumes', 'persistentvolumeclaims'],
  prepare(cluster) {
    const classes = new Map<string, string>()
    const add = (claim: unknown, by: string) => {
      const { storageClassName } = (claim ?? {}) as { storageClassName?: string }
      if (storageClassName) classes.set(storageClassName, by)
    }
    for (const { owner, spec } of podSources(cluster)) {
      const { volumeClaimTemplates = [] } = (owner.spec ?? {}) as { volumeClaimTemplates?: { spec?: unknown }[] }
      for (const template of volumeClaimTemplates) add(template.spec, kindAndName(owner))
      for (const { ephemeral } of spec.volumes ?? [])
        add(
          (ephemeral as { volumeClaimTemplate?: { spec?: unknown } } | undefined)?.volumeClaimTemplate?.spec,
          kindAndName(owner),
        )
    }
    for (const object of [...cluster.list('persistentvolumes'), ...cluster.list('persistentvolumeclaims')]) {
      add(object.spec, kindAndName(object))
      add(
        { storageClassName: object.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] },
        kindAndName(object),
      )
    }
    return ({ metadata: { name, annotations = {} } }) => {
      if (Object.keys(annotations).some((key) => key.endsWith('/is-default-class') && annotations[key] === 'true'))
        return used('claims that name no class')
      const by = classes.get(name)
      return by ? used(by) : unlessCustomUse(cluster.customUse(name), 'no volume, claim or template names it')
    }
  },
}

/** Attachments: dangling when their volume or node is gone. */
export const attachmentDetector: Detector = {
  kinds: ['VolumeAttachment.storage.k8s.io'],
  needs: ['persistentvolumes', 'nodes'],
  prepare(cluster) {
    const volumes = new Set(cluster.list('persistentvolumes').map(({ metadata }) => metadata.name))
    const nodes = new Set(cluster.list('nodes').map(({ metadata }) => metadata.name))
    return ({ spec }) => {
      const { nodeName = '', source } = spec as { nodeName?: string; source?: { persistentVolumeName?: string } }
      const volume = source?.persistentVolumeName
      if (!nodes.has(nodeName)) return unused(`its node ${nodeName} is gone`)
      if (volume !== undefined && !volumes.has(volume)) return unused(`its volume ${volume} is gone`)
      return used(`node ${nodeName}`)
    }
  },
}
