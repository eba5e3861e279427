import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { coversHost } from 'utility-api'
import { comparedDomain } from 'utility-api/storage'
import { describe, expect, test } from 'vitest'
import { searchedForms } from '../../src/domain/compared-domain.ts'

const label63 = 'x'.repeat(63)
const name253 = `${label63}.${label63}.${label63}.${'x'.repeat(61)}`

/** What a license is bound to, where the software runs, whether it is covered, and why. The programs in examples agree. */
const { hosts } = JSON.parse(
  readFileSync(new URL('../../examples/license-check/vectors.json', import.meta.url), 'utf8'),
) as { hosts: [domainOrIp: string, host: string, covers: boolean, why: string][] }

/** What no license is bound to. */
const unbound: readonly (readonly [domainOrIp: string, host: string, covers: boolean, why: string])[] = [
  ['shop.example:8080', 'shop.example:8080', false, 'what a license is bound to has no port'],
  ['[2001:db8::1]', '2001:db8::1', false, 'nor brackets'],
  [`${'x.'.repeat(126)}xx`, `${'x.'.repeat(126)}xx`, false, 'a longer one is no name'],
  ['*.example', 'shop.example', true, 'the owner decides how far a wildcard reaches'],
  [name253, `www.${name253}`, false, 'with www. it is no name'],
  ['*', 'example', false, 'a star alone is no wildcard'],
  ['*.*.example', 'a.b.example', false, 'nor are two of them'],
  ['a.*.example', 'a.b.example', false, 'nor is one inside'],
  ['*.0.2.1', '192.0.2.1', false, 'nor one over an address'],
  ['', '', false, 'nothing is no host'],
  ['', 'shop.example', false, 'nothing covers nothing'],
  ['www.', 'www', true, 'a final dot is the root'],
  ['*.', 'example', false, 'a wildcard over nothing'],
  ['.', '.', false, 'the root is no host'],
  ['a b', 'a b', false, 'what is no host covers not even itself'],
  ['shop.example\u0000', 'shop.example', false, 'a control character is no part of a name'],
]
const pairs = [...hosts, ...unbound]

describe('coversHost', () => {
  test.each(pairs)('%j, asked for %j: %s, because %s', (domainOrIp, host, covers) => {
    expect(coversHost(domainOrIp, host)).toBe(covers)
  })

  test('the lists find by the same forms', () => {
    for (const [domainOrIp, host, covers] of pairs) {
      // A list is asked for a host, which has neither a port nor brackets.
      if (/[:\]]\d*$/.test(host) || host.startsWith('[') || host.startsWith('*.')) continue
      expect(searchedForms(host).includes(comparedDomain(domainOrIp)), `${domainOrIp} ${host}`).toBe(covers)
    }
    expect(searchedForms('*.SHOP.example')).toEqual(['*.shop.example'])
    expect(searchedForms('*.www.example')).toEqual(['*.www.example'])
    // At most four, each at most as long as a compared form.
    expect(searchedForms('www.a.b').toSorted()).toEqual(['*.a.b', 'a.b', 'www.a.b', 'www.www.a.b'])
    expect(searchedForms(name253)).toEqual([name253, `*.${name253.slice(64)}`])
    expect(searchedForms('*.a b')).toEqual([])
  })

  test.each([
    [undefined, 'shop.example', 'domainOrIp'],
    ['shop.example', null, 'host'],
    ['shop.example', new URL('http://shop.example'), 'host'],
  ])('%j and %j are refused: a comparison that fails open would be worse', (domainOrIp, host, name) => {
    expect(() => coversHost(domainOrIp as string, host as string)).toThrow(`${name} must be a string.`)
  })
})

/** What a browser makes of a host: another implementation of all that is compared. */
function browserHost(text: string): string | null {
  const url = `http://${text}/`
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : null
}

const mapped = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/

function canonical(host: string): string {
  const [, high, low] = mapped.exec(host) ?? []
  if (high === undefined || low === undefined) return host
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [a >> 8, a & 255, b >> 8, b & 255].join('.')
}

function isTwin(longer: string, shorter: string): boolean {
  return longer === `www.${shorter}` && shorter.includes('.')
}

/** The rule again, over hosts as browsers read them. */
function oracle(domainOrIp: string, host: string): boolean {
  const asked = browserHost(host)
  const bound = browserHost(domainOrIp.replace(/^\*\./, '').replace(/^(?=.*:.*:)(.*)$/, '[$1]'))
  if (asked === null || bound === null) return false
  if (!domainOrIp.startsWith('*.')) {
    const [own, wanted] = [canonical(asked), canonical(bound)]
    return own === wanted || isTwin(own, wanted) || isTwin(wanted, own)
  }
  const [first, ...rest] = asked.split('.')
  return first !== '' && rest.join('.') === bound
}

const label = fc.constantFrom(
  'a',
  'B',
  'shop',
  'münchen',
  'xn--mnchen-3ya',
  '中国',
  'straße',
  'x-1',
  'www',
  'MÜNCHEN',
)
const name = fc
  .tuple(fc.array(label, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '.'))
  .map(([labels, dot]) => `${labels.join('.')}${dot}`)
const ipv4 = fc.constantFrom('192.0.2.1', '192.0.2.2', '8.8.8.8')
const ipv6 = fc.constantFrom(
  '2001:db8::1',
  '2001:DB8:0::1',
  '::ffff:192.0.2.1',
  '::ffff:c000:201',
  '::1',
  '0::1',
)
const port = fc.constantFrom('', ':80', ':8443')

describe('the compared form', () => {
  test('covers as an independent implementation of hosts does', () => {
    const bound = fc.oneof(
      name,
      ipv4,
      ipv6,
      name.map((each) => `*.${each}`),
    )
    const asked = fc.tuple(
      fc.oneof(
        name,
        ipv4,
        ipv6.map((each) => `[${each}]`),
      ),
      port,
    )
    fc.assert(
      fc.property(bound, asked, (domainOrIp, [host, suffix]) => {
        expect(coversHost(domainOrIp, host + suffix)).toBe(oracle(domainOrIp, host + suffix))
      }),
      { numRuns: 3000 },
    )
  })

  test('is its own form, fits into 255 characters, and never joins two hosts that browsers keep apart', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 255 }),
      name,
      ipv4,
      ipv6,
      name.map((each) => `*.${each}`),
    )
    fc.assert(
      fc.property(text, (domainOrIp) => {
        const form = comparedDomain(domainOrIp)
        expect(comparedDomain(form)).toBe(form)
        expect([...form].length).toBeLessThanOrEqual(Math.max(255, [...domainOrIp].length))
      }),
      { numRuns: 3000 },
    )
  })
})
