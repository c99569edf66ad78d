import { BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAddressGuard } from '../../src/delivery/guard-address.ts'

/** What is not public, by the IANA special-purpose registries, as Node's own matcher reads it. */
const special = new BlockList()
for (const network of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
]) {
  const [address = '', bits] = network.split('/')
  special.addSubnet(address, Number(bits), 'ipv4')
}

const guard = createAddressGuard([])
const dotted = (address: number): string => [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.')
const anyIpv4 = fc.integer({ min: 0, max: 0xffffffff })
const specialIpv4 = fc.oneof(
  anyIpv4.map((address) => ((address & 0x00ffffff) | 0x7f000000) >>> 0),
  anyIpv4.map((address) => ((address & 0x00ffffff) | 0x0a000000) >>> 0),
  anyIpv4.map((address) => ((address & 0x0000ffff) | 0xc0a80000) >>> 0),
  fc.constantFrom(0xa9fea9fe, 0x646464c8, 0, 0xffffffff),
)

/** Ways to write an IPv4 address in a URL. */
const spellings = (address: number): string[] => {
  const bytes = dotted(address).split('.').map(Number)
  const hex = address.toString(16).padStart(8, '0')
  return [
    dotted(address),
    `${dotted(address)}.`,
    String(address),
    `0x${hex}`,
    `0${address.toString(8)}`,
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    bytes.map((byte) => `0X${byte.toString(16)}`).join('.'),
    `${bytes[0]}.${address & 0xffffff}`,
    `[::ffff:${dotted(address)}]`,
    `[::ffff:${hex.slice(0, 4)}:${hex.slice(4)}]`,
    `[::${dotted(address)}]`,
    `[::ffff:0:${dotted(address)}]`,
    `[64:ff9b::${dotted(address)}]`,
    `[64:ff9b:1::${dotted(address)}]`,
    `[2002:${hex.slice(0, 4)}:${hex.slice(4)}::1]`,
    `[2001:0:${hex.slice(0, 4)}:${hex.slice(4)}::1]`,
  ]
}

describe('the address guard', () => {
  it('lets exactly the public IPv4 addresses through', () => {
    fc.assert(
      fc.property(fc.oneof(anyIpv4, specialIpv4), (address) => {
        const refused = guard.refuseAddress(dotted(address)) !== undefined
        expect(refused).toBe(special.check(dotted(address), 'ipv4'))
      }),
      { numRuns: 2000 },
    )
  })

  it('refuses every spelling of an address that is not public', () => {
    fc.assert(
      fc.property(specialIpv4, (address) => {
        for (const host of spellings(address)) {
          expect(guard.refuseUrl(`http://${host}:8080/x`), host).toMatchObject({ code: 'forbidden_address' })
        }
      }),
    )
  })

  it('lets nothing of IPv6 through outside the global unicast range', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    fc.assert(
      fc.property(fc.tuple(group, group, group, group, group, group, group, group), (groups) => {
        const text = groups.map((part) => part.toString(16)).join(':')
        if (groups[0] >>> 13 !== 1) expect(guard.refuseAddress(text), text).toBeDefined()
      }),
      { numRuns: 1000 },
    )
  })

  it.each([
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '100::1',
    '168.63.129.16',
    'x',
    '',
  ])('refuses %j', (address) => {
    expect(guard.refuseAddress(address)).toMatchObject({ code: 'forbidden_address' })
  })

  it.each(['2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '8.8.8.8', '100.128.0.1', '172.32.0.1'])(
    'lets %s through',
    (address) => {
      expect(guard.refuseAddress(address)).toBeUndefined()
    },
  )

  it('lets the allowed networks through, and nothing beside them', () => {
    const lenient = createAddressGuard(['10.1.0.0/16', '127.0.0.2/32', 'fd00:1::/32'])
    for (const address of ['10.1.255.255', '127.0.0.2', 'fd00:1::5'])
      expect(lenient.refuseAddress(address)).toBeUndefined()
    for (const address of ['10.2.0.0', '127.0.0.1', 'fd00:2::5', '::ffff:10.1.0.1', '::ffff:127.0.0.2']) {
      expect(lenient.refuseAddress(address), address).toBeDefined()
    }
  })

  it('lets localhost be saved only where it can be reached', () => {
    for (const url of ['http://localhost/', 'http://LOCALHOST.:1/', 'http://a.localhost/']) {
      expect(guard.refuseUrl(url)).toMatchObject({ code: 'forbidden_address' })
      expect(createAddressGuard(['127.0.0.0/8']).refuseUrl(url)).toBeUndefined()
      expect(createAddressGuard(['::1/128']).refuseUrl(url)).toBeUndefined()
    }
    expect(guard.refuseUrl('http://localhost.example/')).toBeUndefined()
  })

  it('says what an address is and how it can be allowed', () => {
    expect(guard.refuseUrl('http://169.254.169.254/latest')?.reason).toBe(
      '169.254.169.254 is a link-local address, where deliveries may not go. ' +
        'The operator can allow its network in POSTRIDER_ALLOWED_NETWORKS.',
    )
  })

  it('does not start with something that is not a CIDR', () => {
    for (const network of ['10.0.0.0', 'example.com', '10.0.0.0/33', '']) {
      expect(() => createAddressGuard([network])).toThrow()
    }
  })
})
