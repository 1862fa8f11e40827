import type { Address, NatGateway, NetworkInterface } from '@aws-sdk/client-ec2'
import { tagsOf, timeOf } from '../read/aws-type.ts'
import { unused, used } from '../../model/resource.ts'
import { defineType } from '../read/define-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import { Evidence } from '../read/evidence.ts'
import { inventoryError, listCompletely } from '../read/listing.ts'
import { idleDays, largestValues } from '../read/metrics.ts'

/** Elastic IP addresses. In use while associated. AWS does not say when one was allocated: its age counts from when Sojourn first saw it. */
export const elasticIpType = defineType<Address>({
  name: 'elasticIp',
  absent: ['InvalidAllocationID.NotFound', 'InvalidAddress.NotFound'],
  tag: tagEc2,
  // This listing has no pages.
  async all({ sdk, ec2, account }) {
    const { Addresses } = await ec2.send(new sdk.ec2.DescribeAddressesCommand({})).catch((error: unknown) => {
      throw inventoryError(`addresses of ${account}`, error)
    })
    if (!Addresses) throw inventoryError(`addresses of ${account}`, new Error('the response has no Addresses'))
    return Addresses.filter(({ AllocationId }) => AllocationId)
  },
  one: async ({ sdk, ec2 }, id) =>
    (await ec2.send(new sdk.ec2.DescribeAddressesCommand({ AllocationIds: [id] }))).Addresses?.[0],
  describe(address) {
    const id = address.AllocationId ?? ''
    return { id, uid: id, tags: tagsOf(address.Tags), raw: address, facts: { name: address.PublicIp } }
  },
  use:
    async () =>
    ({ AssociationId, InstanceId, NetworkInterfaceId }) =>
      AssociationId || InstanceId || NetworkInterfaceId
        ? used(InstanceId ? `instance ${InstanceId}` : `network interface ${NetworkInterfaceId}`)
        : unused('it is associated with nothing'),
  remove: ({ sdk, ec2 }, { AllocationId }) => ec2.send(new sdk.ec2.ReleaseAddressCommand({ AllocationId })),
})

/** NAT gateways. In use while a route leads to them and CloudWatch saw traffic; without metrics a route is use. */
export const natGatewayType = defineType<NatGateway>({
  name: 'natGateway',
  absent: ['NatGatewayNotFound'],
  tag: tagEc2,
  async all({ sdk, ec2: client, account }) {
    const gateways = await listCompletely(
      { what: `NAT gateways of ${account}`, pageSize: 500, items: 'NatGateways' },
      (pageSize: number) => sdk.ec2.paginateDescribeNatGateways({ client, pageSize }, {}),
    )
    return gateways.filter(isThere)
  },
  async one({ sdk, ec2 }, id) {
    const { NatGateways = [] } = await ec2.send(new sdk.ec2.DescribeNatGatewaysCommand({ NatGatewayIds: [id] }))
    return NatGateways.find(isThere)
  },
  describe(gateway) {
    const id = gateway.NatGatewayId ?? ''
    return { id, uid: id, createdAt: timeOf(gateway.CreateTime), tags: tagsOf(gateway.Tags), raw: gateway }
  },
  async use({ session }) {
    const { sdk, ec2: client, account } = session
    const tables = await listCompletely(
      { what: `route tables of ${account}`, pageSize: 100, items: 'RouteTables' },
      (pageSize: number) => sdk.ec2.paginateDescribeRouteTables({ client, pageSize }, {}),
    )
    const routes = new Map(
      tables.flatMap(({ RouteTableId, Routes = [] }) =>
        Routes.flatMap(({ NatGatewayId }) => (NatGatewayId ? [[NatGatewayId, `route table ${RouteTableId}`]] : [])),
      ) as [string, string][],
    )
    const metric = { namespace: 'AWS/NATGateway', metric: 'BytesOutToDestination', dimension: 'NatGatewayId' }
    const traffic = await largestValues(session, metric, [...routes.keys()])
    return ({ NatGatewayId = '', State, CreateTime }) => {
      if (State !== 'available') return used(`its state ${State}`)
      const by = routes.get(NatGatewayId)
      if (by === undefined) return unused('no route leads to it')
      const seen = traffic.get(NatGatewayId)
      const old = session.now() - (timeOf(CreateTime) ?? session.now()) > idleDays * 86_400_000
      return seen?.largest === 0 && old ? unused(`it sent no traffic for ${idleDays} days`, seen.since) : used(by)
    }
  },
  remove: ({ sdk, ec2 }, { NatGatewayId }) => ec2.send(new sdk.ec2.DeleteNatGatewayCommand({ NatGatewayId })),
})

function isThere({ State }: NatGateway): boolean {
  return State !== 'deleted' && State !== 'deleting'
}

/** Network interfaces. In use while attached or associated with an address. Those of AWS's services are shielded: the service deletes them. */
export const networkInterfaceType = defineType<NetworkInterface>({
  name: 'networkInterface',
  absent: ['InvalidNetworkInterfaceID.NotFound'],
  tag: tagEc2,
  all: (session) => new Evidence(session).networkInterfaces(),
  one: async ({ sdk, ec2 }, id) =>
    (await ec2.send(new sdk.ec2.DescribeNetworkInterfacesCommand({ NetworkInterfaceIds: [id] })))
      .NetworkInterfaces?.[0],
  describe(face) {
    const id = face.NetworkInterfaceId ?? ''
    const isForeign = face.RequesterManaged || (face.InterfaceType ?? 'interface') !== 'interface'
    const detail = `${face.Description || 'a service of AWS'} manages it`
    return {
      id,
      uid: id,
      tags: tagsOf(face.TagSet),
      raw: face,
      shield: isForeign ? { because: 'shielded', detail } : undefined,
    }
  },
  use:
    async () =>
    ({ Status, Attachment, Association }) => {
      if (Attachment) return used(`instance ${Attachment.InstanceId ?? Attachment.InstanceOwnerId}`)
      if (Association?.AssociationId) return used(`address ${Association.PublicIp}`)
      return Status === 'available' ? unused('it is attached to nothing') : used(`its state ${Status}`)
    },
  remove: ({ sdk, ec2 }, { NetworkInterfaceId }) =>
    ec2.send(new sdk.ec2.DeleteNetworkInterfaceCommand({ NetworkInterfaceId })),
})
