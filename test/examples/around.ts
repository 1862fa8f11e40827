import { CreateTagsCommand, DescribeImagesCommand, EC2Client, RegisterImageCommand } from '@aws-sdk/client-ec2'
import { expect } from 'vitest'
import { loadCredentials } from '../../src/apiserver/auth/credentials.ts'
import { DemoForge } from '../../examples/demo/forge.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { startMoto, whyNoMoto } from '../janitor/moto.ts'
import type { Step } from './example.ts'

/** What an example needs besides a cluster, and access to its state. */
export interface Around extends AsyncDisposable {
  /** Addresses in the manifests, and what stands for them here. */
  readonly instead: Readonly<Record<string, string>>
  /** What its reader would have made by hand. */
  readonly manifests: readonly KubeObject[]
  /** The authority of certificates made for it. */
  readonly ca?: string
  readonly check?: (step: Step) => Promise<void>
}

/** Sets up what stands around an example; a text says why that cannot be had here. */
export function aroundOf(name: string): Promise<Around | string> | undefined {
  switch (name) {
    case '10-cloud-images':
      return pretendedAws()
    case '11-on-demand-tls':
      return Promise.resolve(certificate())
    case '12-pull-request':
      return forge()
    default:
      return undefined
  }
}

async function pretendedAws(): Promise<Around | string> {
  // `npm test` downloads nothing.
  const missing = await whyNoMoto({ mayInstall: process.env['LANE'] === 'janitor' })
  if (missing) return missing
  const moto = await startMoto()
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const ec2 = new EC2Client({ region: 'eu-west-1', endpoint: moto.url, credentials })
  const register = (Name: string) => ec2.send(new RegisterImageCommand({ Name, RootDeviceName: '/dev/sda1' }))
  await register('web-base-1')
  const { ImageId = '' } = await register('golden')
  await ec2.send(new CreateTagsCommand({ Resources: [ImageId], Tags: [{ Key: 'expiration_time', Value: 'never' }] }))
  return {
    instead: { 'http://127.0.0.1:5000': moto.url },
    manifests: [],
    async check({ images }) {
      if (!images) return
      const { Images = [] } = await ec2.send(new DescribeImagesCommand({ Owners: ['self'] }))
      expect(Images.map(({ Name }) => Name)).toEqual(images)
    },
    [Symbol.asyncDispose]: () => moto[Symbol.asyncDispose](),
  }
}

function certificate(): Around {
  const { server, authority } = loadCredentials({ hosts: ['shop.example-11.test'], now: systemClock.now() })
  const metadata = { name: 'shop-tls', namespace: 'example-11' }
  const stringData = { 'tls.crt': server.certificate, 'tls.key': server.key }
  return {
    instead: {},
    manifests: [{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, stringData }],
    ca: authority,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

async function forge(): Promise<Around> {
  const text = 'version: 1.0.0 # {"$promotion": "example-12:shop:production"}\n'
  const started = await DemoForge.start({ name: 'production.yaml', text }, systemClock)
  const metadata = { name: 'forge', namespace: 'example-12' }
  return {
    instead: { 'https://git.example.org/team/shop': started.url },
    manifests: [{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: started.credentials }],
    check({ merged }) {
      if (merged) {
        expect(started.pulls).toEqual([expect.objectContaining({ title: merged.title, isMerged: true })])
        expect(started.repository.read('main', 'production.yaml')).toContain(merged.says)
      }
      return Promise.resolve()
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  }
}
