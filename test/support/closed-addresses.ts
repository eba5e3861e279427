import { formatIpAddress, parseIpAddress } from '../../src/domain/ip-address.ts'

/** What RFC 6890 and its registry at IANA keep from the internet, and what we add. */
export const closedIpv4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['168.63.129.16', 32],
] as const

/** The same of IPv6. */
const closedIpv6 = [
  ['::', 128],
  ['::1', 128],
  ['100::', 64],
  ['2001::', 23],
  ['2001:2::', 48],
  ['2001:10::', 28],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const

export const numberOf = (ip: string): number => Buffer.from(parseIpAddress(ip)!).readUInt32BE()
export /** An IPv4 address in the other ways to write it in an IPv6 address. */
function disguisesOf(inner: string): string[] {
  const groups = (value: number): string => `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`
  const hex = groups(numberOf(inner))
  return [
    `::${inner}`,
    `::ffff:${inner}`,
    `::ffff:0:${inner}`,
    `64:ff9b:1::${inner}`,
    `64:ff9b:1:${hex.replace(':', ':0:')}::`,
    `64:ff9b:0:0:0:1:${inner}`,
    `64:ff9b::1:0:${inner}`,
    `64:ff9a::${inner}`,
    `64:ff9b:${hex}::`,
    `2002:${hex}::1`,
    `2001:0:4136:e378:8000:63bf:${groups(~numberOf(inner))}`,
    `2606:4700:1:2:0:5efe:${inner}`,
    `2606:4700:1:2:200:5efe:${inner}`,
  ]
}

/** The first and the last address of a range. */
function endsOf(ip: string, prefixLength: number): string[] {
  return [0x00, 0xff].map((fill) => {
    const octets = parseIpAddress(ip)!.map((octet, index) => {
      const kept = 0xff << (8 - Math.min(8, Math.max(0, prefixLength - 8 * index)))
      return (octet & kept) | (fill & ~kept)
    })
    return formatIpAddress(octets)
  })
}

/** Addresses that nobody may be led to: the ends of each range, and those of IPv4 in each way to write them in IPv6. */
export const closedAddresses: readonly string[] = [
  ...closedIpv6.flatMap(([ip, length]) => endsOf(ip, length)),
  ...closedIpv4
    .flatMap(([ip, length]) => endsOf(ip, length))
    .flatMap((ip) => [ip, `64:ff9b::${ip}`, ...disguisesOf(ip)]),
]
