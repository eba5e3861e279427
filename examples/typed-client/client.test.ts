import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import createClient from 'openapi-fetch'
import { beforeAll, expect, test } from 'vitest'
import type { paths } from './schema.d.ts'

const folder = import.meta.dirname
const sources = join(folder, '../../test/support/sources.ts')
const options = { cwd: folder, encoding: 'utf8' } as const

beforeAll(() => {
  const { stderr } = spawnSync(process.execPath, ['--import', sources, 'generate.ts'], options)
  expect(stderr).toBe('')
})

test('the client performs all five operations on a real listener', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', sources, 'client.ts'], options)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const [answers = '', next = ''] = stdout.split('\n\n')
  expect(next).toMatch(/^Asked http:.*npm run check$/m)
  expect(JSON.parse(answers)).toEqual({
    scope: 'dns:check',
    licenseKey: expect.stringMatching(/^LIC-/),
    message: 'License updated.',
    addresses: [{ location: 'Here', ips: ['203.0.113.20'] }],
    playersOnline: 12,
  })
})

test('it type-checks with the TypeScript release of its own', () => {
  const { status, stdout } = spawnSync('npm', ['run', '--silent', 'check'], options)
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
}, 60_000)

// The compiler is the test here: a directive without an error below it fails the type check.
export function mistakes(): void {
  const api = createClient<paths>({ baseUrl: 'http://localhost' })
  // @ts-expect-error: no such path
  void api.GET('/v3/tools/dns')
  // @ts-expect-error: X-Record-Type is missing
  void api.GET('/v3/tools/dnscheck', { params: { header: { 'X-Domain': 'a.example' } } })
  const path = { license_key: 'LIC-' }
  // @ts-expect-error: no such status
  void api.PUT('/v2/reseller/{license_key}/update', { params: { path, header: { 'X-Status': 'maybe' } } })
}
