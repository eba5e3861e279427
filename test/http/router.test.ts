import { expect, test } from 'vitest'
import { createRouter, nearMissOf } from '../../src/http/router.ts'

const check = { method: 'GET', path: '/v3/tools/dnscheck' } as const
const update = { method: 'PUT', path: '/v2/reseller/{license_key}/update' } as const
const targets = [check, update]

test.each([
  '/v3/tools/dnscheck',
  '/v3/tools/dnscheck?x=/a#b',
  '/v3/tools/dnscheck#b?x',
  'http://example.test/v3/tools/dnscheck',
  'HTTPS://[::1]:8443/v3/tools/dnscheck?url=http://example.test/a',
])('the target %s is the path of the DNS check', (target) => {
  expect(createRouter(targets, '')(target)?.target).toBe(check)
})

test.each([
  '',
  '*',
  '?/v3/tools/dnscheck',
  'http://example.test',
  'http://example.test?/v3/tools/dnscheck',
  'http://example.test#/v3/tools/dnscheck',
  '//example.test/v3/tools/dnscheck',
  'v3/tools/dnscheck',
  '/v3/tools/dnscheck/',
  '/v3/tools/./dnscheck',
])('the target "%s" leads nowhere', (target) => {
  expect(createRouter(targets, '')(target)).toBeNull()
})

test.each([
  ['/api/v3/tools/dnscheck?x=1', /after a prefix that basePath/],
  ['/base/base/v3/tools/dnscheck', /after a prefix that basePath/],
  ['/a/b/c/d/v2/reseller/LIC-1/update', /after a prefix that basePath/],
  ['/v3/tools/dnscheck/', /with a slash at its end/],
  ['/base/v3/tools/dnscheck/?x=1', /with a slash at its end/],
])('the log says why the target %s leads nowhere', (target, reason) => {
  const route = createRouter(targets, '/base')
  expect(route(target)).toBeNull()
  expect(nearMissOf(target, (path) => route(path) !== null)).toMatch(reason)
})

test.each(['/', '', '*', '/api', '/v3/tools', '/v3/tools/dnscheck/x', '/a/b/c/d/e/v3/tools/dnscheck'])(
  'nothing is known about the target "%s", and little is tried',
  (target) => {
    const tried: string[] = []
    const route = createRouter(targets, '')
    const isRoute = (path: string): boolean => tried.push(path) > 0 && route(path) !== null
    expect(nearMissOf(target, isRoute)).toBeUndefined()
    expect(tried.length).toBeLessThanOrEqual(5)
  },
)

test('a license key is one segment, decoded once and never resolved', () => {
  const route = createRouter(targets, '')
  const keyOf = (segment: string): string | undefined =>
    route(`http://example.test/v2/reseller/${segment}/update`)?.params['license_key']
  expect(keyOf('LIC-1')).toBe('LIC-1')
  expect(keyOf('a%2Fb%252e')).toBe('a/b%2e')
  expect(keyOf('..')).toBe('..')
  expect(keyOf('a/b')).toBeUndefined()
  expect(keyOf('')).toBeUndefined()
  expect(keyOf('%E0%A4%A')).toBeUndefined()
})

test('a base path comes before the path, as whole segments', () => {
  const route = createRouter(targets, '/api')
  expect(route('/api/v3/tools/dnscheck')?.target).toBe(check)
  expect(route('http://example.test/api/v3/tools/dnscheck')?.target).toBe(check)
  expect(route('/apiv3/tools/dnscheck')).toBeNull()
})

test('a path whose base path was stripped is found, even if what is left begins with the same segment', () => {
  const route = createRouter([...targets, { method: 'POST', path: '/v2/reseller' } as const], '/v2')
  expect(route('/v2/v3/tools/dnscheck')?.target).toBe(check)
  expect(route('/v3/tools/dnscheck')?.target).toBe(check)
  expect(route('/v2/v2/reseller')?.target.path).toBe('/v2/reseller')
  expect(route('/v2/reseller')?.target.path).toBe('/v2/reseller')
})
