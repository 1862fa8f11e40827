import { describe, expect, it } from 'vitest'
import { hasFormat } from './formats.ts'

describe('hasFormat', () => {
  it.each([
    ['date-time', '2026-01-02T03:04:05Z', '2026-13-02T03:04:05Z'],
    ['date', '2024-02-29', '2026-02-29'],
    ['duration', '1h30m', 'soon'],
    ['byte', 'aGk=', 'a'],
    ['uuid', '123e4567-e89b-12d3-a456-426614174000', '123e4567'],
    ['uuid4', '123e4567-e89b-42d3-a456-426614174000', '123e4567-e89b-12d3-a456-426614174000'],
    ['ipv4', '10.0.0.1', '10.0.0'],
    ['ipv6', '2001:db8::1', '10.0.0.1'],
    ['cidr', '10.0.0.0/8', '10.0.0.0/33'],
    ['mac', '01:23:45:67:89:ab', '01:23:45'],
    ['uri', 'https://example.com/x', 'example'],
    ['email', 'jane@example.com', 'jane'],
    ['hostname', 'a.example.com', '-a'],
    ['hexcolor', '#ffcc00', '#ffcc0'],
    ['rgbcolor', 'rgb(1,2,3)', 'rgb(1,2,300)'],
    ['isbn10', '0321751043', '0321751044'],
    ['isbn13', '978-0321751041', '978-0321751042'],
    ['creditcard', '4111 1111 1111 1111', '4111 1111 1111 1112'],
    ['ssn', '123-45-6789', '123-45-678'],
    ['bsonobjectid', '507f1f77bcf86cd799439011', '507f'],
    ['k8s-short-name', 'my-name', 'My-name'],
    ['k8s-long-name', 'my.long-name', 'my..name'],
  ])('%s takes %j and not %j', (format, good, bad) => {
    expect(hasFormat(format, good)).toBe(true)
    expect(hasFormat(format, bad)).toBe(false)
  })

  it('takes everything where the format is not known', () => expect(hasFormat('secret-handshake', '?')).toBe(true))
})
