import { licenseIsGood } from 'utility-api'
import { expect, test } from 'vitest'

const license = { domainOrIp: 'shop.example', status: 'valid', expiresAt: null }
const host = 'www.shop.example:443'
const end = Date.UTC(2026, 0)
const ends = { ...license, expiresAt: end }

test('software may run with a license of a good status, for its host, before its end', () => {
  expect(licenseIsGood(license, host)).toBe(true)
  expect(licenseIsGood(null, host)).toBe(false)
  expect(licenseIsGood({ ...license, status: 'invalid' }, host)).toBe(false)
  expect(licenseIsGood(license, 'other.example')).toBe(false)
  expect(licenseIsGood({ ...license, status: 'trial' }, host, { statuses: ['valid', 'trial'] })).toBe(true)
  expect(licenseIsGood(license, host, { statuses: [] })).toBe(false)
})

test('a license is good until its end, by the given time or the clock', () => {
  expect(licenseIsGood(ends, host, { at: new Date(end - 1) })).toBe(true)
  expect(licenseIsGood(ends, host, { at: new Date(end) })).toBe(false)
  expect(licenseIsGood(license, host, { at: new Date(8.64e15) })).toBe(true)
  expect(licenseIsGood({ ...license, expiresAt: Date.now() + 60_000 }, host)).toBe(true)
  expect(licenseIsGood({ ...license, expiresAt: Date.now() }, host)).toBe(false)
})

const notFound =
  'license must be what findLicense returned: null, or an object with domainOrIp, status and expiresAt.'
const { expiresAt: _, ...endless } = license

test.each<[what: string, args: unknown[], message: string]>([
  ['a promise', [Promise.resolve(license), host], notFound],
  ['nothing', [undefined, host], notFound],
  ['a key', ['LIC-1', host], notFound],
  ['a license that says nothing of its end', [endless, host], notFound],
  ['an end that is no number', [{ ...license, expiresAt: '2026' }, host], notFound],
  ['an end that is no time', [{ ...license, expiresAt: Number.NaN }, host], notFound],
  ['no host', [license], 'host must be a string.'],
  ['no license and no host', [null], 'host must be a string.'],
  ['a domain that is no text', [{ ...license, domainOrIp: 1 }, host], 'domainOrIp must be a string.'],
  ['a number for a time', [license, host, { at: 1 }], 'at must be a Date with a time.'],
  ['a date that is none', [license, host, { at: new Date('') }], 'at must be a Date with a time.'],
  ['a status', [license, host, { statuses: 'valid' }], "statuses must be a list: write ['valid']."],
  ['a time alone', [license, host, null], 'options must be an object, as in { at, statuses }.'],
  ['another option', [license, host, { status: 'valid' }], 'status is not known here; statuses is.'],
])('%s is refused', (_what, args, message) => {
  const call = licenseIsGood as (...args: unknown[]) => boolean
  expect(() => call(...args)).toThrow(expect.objectContaining({ code: 'invalid_argument', message }))
})
