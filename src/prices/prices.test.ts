import { describe, expect, it } from 'vitest'
import { describePrice, hourlyPrice, pricedParts, pricedTypes } from './aws-prices.ts'
import { defaultPrices, pricesIn, readPrices } from './prices.ts'

const month = 730

describe('prices of AWS', () => {
  it('has a price for every part of every type, in every region', () => {
    const described = { Size: 1, VolumeSize: 1, AllocatedStorage: 1, DBInstanceClass: 'db.t3.micro' }
    for (const region of ['us-east-1', 'eu-west-1', 'eu-central-1', 'mars-1'])
      for (const type of pricedTypes)
        expect(hourlyPrice(pricedParts(type, described) ?? [], pricesIn(defaultPrices.aws, region)), type).toBeTypeOf(
          'number',
        )
  })

  it('takes the region of the resource, and us-east-1 for others', () => {
    const volume = pricedParts('volume', { VolumeType: 'gp3', Size: 100 }) ?? []
    const inRegion = (region: string) => hourlyPrice(volume, pricesIn(defaultPrices.aws, region))! * month
    expect(inRegion('eu-central-1')).toBeCloseTo(9.52)
    expect(inRegion('us-east-1')).toBeCloseTo(8)
  })

  it('doubles a database in two zones, and says when a class has no price', () => {
    const database = { DBInstanceClass: 'db.m5.large', AllocatedStorage: 10, MultiAZ: true }
    const prices = { prices: pricesIn(defaultPrices.aws, ''), currency: 'USD' }
    expect(describePrice(pricedParts('dbInstance', database) ?? [], prices)).toBe(
      '20 GiB db.m5.large, about 262.18 USD a month',
    )
    const odd = pricedParts('dbInstance', { ...database, DBInstanceClass: 'db.x9.huge' }) ?? []
    expect(describePrice(odd, prices)).toBe('20 GiB db.x9.huge, price unknown')
  })

  it('reads the names of the table, and the two older fields, from a price file', () => {
    const { aws } = readPrices({
      aws: { 'eu-west-1': { gp3: 0.5, 'db.x9.huge': 2, storageGiBMonth: 0.07, loadBalancerHour: 0.03 } },
    })
    expect(aws['eu-west-1']).toMatchObject({
      gp3: 0.5 / month,
      'db.x9.huge': 2,
      snapshot: 0.07 / month,
      loadBalancer: 0.03,
    })
    expect(aws['eu-west-1']?.['natGateway']).toBe(0.048)
    expect(() => readPrices({ aws: { 'eu-west-1': { gp9: 1 } } })).toThrow('aws.eu-west-1.gp9 is not known')
    expect(() => readPrices({ aws: { 'eu-west-1': { gp3: -1 } } })).toThrow('aws.eu-west-1.gp3 is -1')
  })
})
