import { describe, expect, test } from 'vitest'
import type { DnsCheckResult } from 'utility-api'
import { findProgram } from '../../dns/support/nsd.ts'
import { hasOwnNetwork, runInOwnNetwork } from '../../support/own-network.ts'

const hasNsd = findProgram('nsd') !== undefined
if (!hasNsd) console.warn('Skipped: nsd not found (Debian: apt-get install nsd).')

/** Runs the command with `--authority` in one of the worlds of `authority-world.node.ts`. */
async function dns(
  world: 'usual' | 'second-resolver' | 'move',
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const stdout = await runInOwnNetwork('test/cli/support/authority-world.node.ts', world, ...args)
  return JSON.parse(stdout) as { code: number; stdout: string; stderr: string }
}

const www = ['www.engines.example', '--expect', '192.0.2.80']

describe.runIf(hasNsd && hasOwnNetwork)('--authority, with NSD as registry and as zone', () => {
  test('asks the servers that the registry delegates to, not those that the resolver knows', async () => {
    const { code, stdout, stderr } = await dns('usual', ...www)
    expect({ code, stderr }).toEqual({ code: 4, stderr: '' })
    // The server that the zone places at a private address is not asked.
    expect(stdout).toMatch(
      /^zone engines\.example +ns1\.engines\.example +9\.9\.9\.53 +\d+ ms +300 s +192\.0\.2\.80$\n^cache +cache +127\.0\.0\.1:\d+ +\d+ ms +41 s +192\.0\.2\.7$/m,
    )
    expect(stdout).toContain('Partly: the zone says 192.0.2.80; the resolver says something else.')
    expect(stdout).toMatch(/The last old answer expires within 41 s, by \d\d:\d\d:\d\d UTC\.$/m)
  })

  test('asks over TCP and answers as JSON', async () => {
    const { code, stdout } = await dns('usual', ...www, '--tcp', '--json')
    expect(code).toBe(4)
    const results = JSON.parse(stdout) as DnsCheckResult[]
    expect(results.map(({ ip, transport, status }) => [ip, transport, status])).toEqual([
      ['9.9.9.53', 'tcp', 'NOERROR'],
      ['127.0.0.1', 'tcp', 'NOERROR'],
    ])
  })

  test('follows an alias into its zone', async () => {
    const { code, stdout } = await dns('usual', 'shop.engines.example')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^zone cdn\.example +ns\.cdn\.example .* 192\.0\.2\.90 \[alias of shop\.cdn\.example\]$/m,
    )
    expect(stdout).toContain('The zone says 192.0.2.90, and so does the resolver that answered.')
  })

  test('asks the registry for DS and the zone for DNSKEY', async () => {
    const { stdout } = await dns('usual', 'engines.example', 'DS', 'DNSKEY')
    expect(stdout).toMatch(/^DS records[^]*^zone example +ns\.registry\.example .* 2371 13 2 ABAB/m)
    expect(stdout).toMatch(/^DNSKEY records[^]*^zone engines\.example +ns1\.engines\.example .* 257 3 13 /m)
  })

  test('shows what the registry delegates to beside what the zone says of itself', async () => {
    const { stdout } = await dns('usual', 'engines.example', 'NS')
    expect(stdout).toMatch(/^cache .* old\.engines\.example$/m)
    expect(stdout).toContain(
      'engines.example is delegated to ns1.engines.example, ns2.engines.example, as the zone above says.',
    )
  })

  test('goes by another resolver where the first is dead', async () => {
    const { stdout } = await dns('second-resolver', ...www)
    expect(stdout).toMatch(/^zone engines\.example +ns1\.engines\.example +9\.9\.9\.53 .* 192\.0\.2\.80$/m)
  })

  test('sees the zone move to other servers while it watches', async () => {
    const { code, stdout } = await dns('move', ...www, '--watch', '--interval', '1', '--for', '60')
    expect(code).toBe(0)
    const rounds = stdout.split('\n').filter((line) => line.includes('Z '))
    expect(rounds[0]).toMatch(/ Partly: the zone itself says 192\.0\.2\.7, not what is expected\.$/)
    expect(stdout).toMatch(/^zone engines\.example +ns1\.engines\.example +9\.9\.9\.53 .* 192\.0\.2\.80$/m)
    expect(stdout).toContain('Arrived: the zone says 192.0.2.80, and so does the resolver that answered.')
    // What the old server said is waited for, though it is no longer asked.
    const after = rounds.filter((line) => line.includes(' Arrived: '))
    expect(after.length).toBeGreaterThan(0)
  })
})
