import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { expect, test } from 'vitest'
import type { Told } from './support/out-of-files.ts'

const program = fileURLToPath(new URL('./support/out-of-files.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href
const runtimes = {
  Node: [process.execPath, '--import', sources],
  Bun: ['node_modules/.bin/bun'],
}

test.for(Object.entries(runtimes))(
  'what this machine lacks is nobody else’s fault: %s',
  async ([, runtime]) => {
    await using dns = await fakeDnsServer({
      records: [
        { type: 'A', host: 'example.com', ttl: 60, ip: '192.0.2.1' },
        { type: 'A', host: 'mc.example.com', ttl: 60, ip: '127.0.0.1' },
      ],
    })
    await using game = await fakeBlockgameServer()
    const args = ['-c', 'ulimit -n 100; exec "$@"', 'bash', ...runtime, program]
    const { stdout } = await promisify(execFile)('bash', [...args, String(dns.port), String(game.port)])
    const { taken, without, again } = JSON.parse(stdout) as {
      taken: number
      without: Record<string, Told>
      again: Record<string, Told>
    }
    expect(taken).toBeGreaterThan(10)
    const failed = { status: 500, code: 'server_check_failed', reason: 'local' }
    const lookup = { ...failed, errors: ['The lookup failed on this machine.'] }
    const check = { status: 503, code: 'unavailable', errors: ['The DNS check failed on this machine.'] }
    expect(without).toEqual({
      check,
      'check over HTTPS': check,
      lookup,
      'lookup by name': lookup,
    })
    const fine = { status: 200, errors: [] }
    expect(again).toEqual({ check: fine, 'check over HTTPS': fine, lookup: fine, 'lookup by name': fine })
  },
)
