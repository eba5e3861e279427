import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ServerStatus } from '../../../src/domain/server-status.ts'
import { freePort } from '../../support/free-port.ts'
import { startClient } from './harness.ts'

const program = process.env['HAPROXY'] ?? '/usr/sbin/haproxy'

/** Whether there is a HAProxy to test with; says so where there is none. */
export function hasHaproxy(): boolean {
  if (existsSync(program)) return true
  console.log(`Skipped: there is no HAProxy at ${program} (set HAPROXY to one).`)
  return false
}

/**
 * Expects this status of a server asked directly and through HAProxy: with and without PROXY headers, ours and its own,
 * and with one of two servers down.
 */
export async function expectEveryWay(port: number, expected: Partial<ServerStatus>): Promise<void> {
  const [plain, proxied, twice, half, down, nobody] = await Promise.all(
    Array.from({ length: 6 }, () => freePort()),
  )
  await using _ = await startHaproxy(
    listen(plain!, '', server(port)),
    listen(proxied!, 'accept-proxy', server(port)),
    listen(twice!, '', `${server(proxied!)} send-proxy-v2`),
    listen(half!, '', server(nobody!), server(port)),
    listen(down!, '', server(nobody!)),
  )
  expect(await lookUp(port)).toMatchObject(expected)
  expect(await lookUp(plain!)).toMatchObject(expected)
  expect(await lookUp(proxied!, 1)).toMatchObject(expected)
  expect(await lookUp(proxied!, 2)).toMatchObject(expected)
  expect(await lookUp(twice!)).toMatchObject(expected)
  // In turn, so that each begins with the other server.
  for (let round = 0; round < 4; round += 1) expect(await lookUp(half!)).toMatchObject(expected)
  await expect(lookUp(down!)).rejects.toMatchObject({ reason: 'closed' })
  await expect(lookUp(proxied!)).rejects.toMatchObject({ reason: 'closed' })
}

export function lookUp(port: number, proxyProtocol?: 1 | 2): Promise<ServerStatus> {
  return startClient().status({ host: '127.0.0.1', port, ...(proxyProtocol && { proxyProtocol }) })
}

export function server(port: number): string {
  return `server s${port} 127.0.0.1:${port}`
}

export function listen(port: number, bind: string, ...servers: readonly string[]): string {
  return [`listen p${port}`, `bind 127.0.0.1:${port} ${bind}`, 'balance roundrobin', ...servers].join('\n  ')
}

/** Starts it with these sections, and waits until the last of them listens. */
export async function startHaproxy(...sections: readonly string[]): Promise<AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'haproxy-'))
  const timeouts = ['timeout connect 2s', 'timeout client 10s', 'timeout server 10s']
  const defaults = ['defaults', 'mode tcp', 'retries 0', ...timeouts].join('\n  ')
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, [defaults, ...sections, ''].join('\n'))
  const haproxy = spawn(program, ['-db', '-f', file], { stdio: 'ignore' })
  const dispose = async (): Promise<void> => {
    haproxy.kill('SIGKILL')
    await once(haproxy, 'close')
    rmSync(folder, { recursive: true })
  }
  await listening(Number(/bind 127\.0\.0\.1:(\d+)/.exec(sections.at(-1)!)?.[1]))
  return { [Symbol.asyncDispose]: dispose }
}

async function listening(port: number, triesLeft = 500): Promise<void> {
  const socket = createConnection(port, '127.0.0.1')
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  socket.destroy()
  if (isOpen) return
  if (triesLeft === 0) throw new Error('HAProxy does not listen.')
  await delay(10)
  await listening(port, triesLeft - 1)
}
