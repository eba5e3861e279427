import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { DnsCheckResult } from 'utility-api'
import { findProgram } from '../../dns/support/nsd.ts'

const run = promisify(execFile)
const isolated = ['--map-root-user', '--net']

async function whyNot(): Promise<string | null> {
  const missing = ['nsd', 'unshare', 'ip'].filter((each) => findProgram(each) === undefined)
  if (missing.length > 0)
    return `${missing.join(', ')} not found (Debian: apt-get install nsd util-linux iproute2)`
  return run('unshare', [...isolated, 'true']).then(
    () => null,
    () => 'this user may not have a network of its own (unshare)',
  )
}
const reason = await whyNot()
if (reason !== null) console.warn(`Skipped: ${reason}.`)

async function dns(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const program = ['--import', './test/support/sources.ts', 'test/cli/support/authority-world.node.ts']
  const { stdout } = await run('unshare', [...isolated, process.execPath, ...program, ...args])
  return JSON.parse(stdout) as { code: number; stdout: string; stderr: string }
}

test.skipIf(reason !== null)("--authority shows NSD's answer above what a resolver still keeps", async () => {
  const { code, stdout, stderr } = await dns()
  expect({ code, stderr }).toEqual({ code: 4, stderr: '' })
  // The server that the zone places at a private address is not asked.
  expect(stdout).toMatch(
    /^zone engines\.example +ns1\.engines\.example +9\.9\.9\.53 +\d+ ms +300 s +192\.0\.2\.80$\n^cache +cache +127\.0\.0\.1:\d+ +\d+ ms +41 s +192\.0\.2\.7$/m,
  )
  expect(stdout).toContain('Partly: the zone says 192.0.2.80; the resolver says something else.')
  expect(stdout).toMatch(
    /The others may keep their answers for 41 s more, at the latest until \d\d:\d\d:\d\d UTC\.$/m,
  )
})

test.skipIf(reason !== null)('--authority asks over TCP and answers as JSON', async () => {
  const { code, stdout } = await dns('--tcp', '--json')
  expect(code).toBe(4)
  const results = JSON.parse(stdout) as DnsCheckResult[]
  expect(results.map(({ ip, transport, status }) => [ip, transport, status])).toEqual([
    ['9.9.9.53', 'tcp', 'NOERROR'],
    ['127.0.0.1', 'tcp', 'NOERROR'],
  ])
})
