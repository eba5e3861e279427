import assert from 'node:assert/strict'
import { isIP, isIPv4 } from 'node:net'
import { isPublicAddress } from 'utility-api/blockgame'
import { forwardedAddress } from '../../adapters/http/client-address.ts'
import { parseHostName } from '../../src/domain/host-name.ts'
import {
  canonicalIpAddress,
  formatIpAddress,
  parseIpAddress,
  parseNetwork,
} from '../../src/domain/ip-address.ts'
import { parseServerAddress, parseServerHost } from '../../src/domain/server-address.ts'
import { addressKey } from '../../src/bounds/address-key.ts'
import { texts, type FuzzTarget } from './target.ts'

const hosts =
  'example.com _dmarc.Example.com. münchen.example 例え。テスト a-b.c0 xn--mnchen-3ya.de com ß.de'.split(' ')
const confusing =
  '127.1 0x7f.1 2130706433 017700000001 127.0.0.1. 1.2.3.4.5 １２７.0.0.1 127。0。0。1 127.0.0.1:'.split(' ')
const addresses =
  '127.0.0.1 ::1 ::ffff:10.0.0.1 2001:db8::8:800:200c:417a fe80::1 64:ff9b::7f00:1 1.1.1.1'.split(' ')

/** How a browser, and much other software, reads a host. */
function hostOfUrl(host: string): string {
  try {
    return new URL(`http://${host}`).hostname
  } catch {
    return host
  }
}

function assertName(name: string): void {
  assert.match(name, /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/)
  assert.equal(isIP(name), 0)
  assert(!isIPv4(hostOfUrl(name)), `${name} is an address to others`)
}

export const nameTargets: readonly FuzzTarget[] = [
  {
    name: 'a host name',
    corpus: texts(...hosts, ...confusing, ...addresses),
    check(input) {
      const text = input.toString()
      for (const underscores of [false, true]) {
        const name = parseHostName(text, { underscores })
        if (name === null) continue
        assertName(name)
        assert.equal(parseHostName(name, { underscores }), name, 'the canonical form is canonical')
      }
    },
  },
  {
    name: 'the address of a game server',
    corpus: texts(
      ...hosts.map((host) => `${host}:25565`),
      ...addresses.map((ip) => `[${ip}]:1024`),
      ...confusing,
      ...addresses,
    ),
    check(input) {
      const address = parseServerAddress(input.toString(), undefined)
      if (address === null) return
      const { host, port } = address
      assert(Number.isInteger(port) && port >= 1 && port <= 65_535)
      assert.equal(parseServerHost(host), host, 'the canonical form is canonical')
      if (isIP(host) === 0) assertName(host)
    },
  },
  {
    name: 'an IP address',
    corpus: texts(
      ...addresses,
      ...confusing,
      '192.0.2.0/24',
      '2001:db8::/32',
      '10.0.0.1, [::1]:80, 192.0.2.1:443',
    ),
    check(input) {
      const text = input.toString('latin1')
      const octets = parseIpAddress(text)
      assert.equal(octets === null, isIP(text) === 0 || text.includes('%'))
      if (octets !== null) {
        assert.deepEqual(parseIpAddress(formatIpAddress(octets)), octets)
        const canonical = canonicalIpAddress(text) ?? ''
        assert.equal(canonicalIpAddress(canonical), canonical)
        assert.equal(isPublicAddress(text), isPublicAddress(canonical))
      } else assert.equal(isPublicAddress(text), false)
      parseNetwork(text)
      addressKey(text)
      const client = forwardedAddress('192.0.2.9', 1, () => text) ?? ''
      assert(isIP(client) !== 0)
    },
  },
]
