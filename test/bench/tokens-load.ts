/** What the token benchmark sends: a file of codes and clients, by wrk where it is installed, else by Node. */
import { execFile, execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { randomKeys } from 'utility-api'
import type { Load } from './http-load.ts'

export const redirectUri = 'https://client.example/callback'
export const clientCount = 100
export const clientIdOf = (number: number): string => `client-${String(number).padStart(3, '0')}`
export const secretOf = (clientId: string): string => `a-secret-of-at-least-32-characters-for-${clientId}`

export interface Exchange {
  readonly code: string
  readonly clientId: string
}

/** Writes so many codes, each with its client, one a line; all lines are equally long. */
export function writeExchanges(path: string, count: number): void {
  const keys = randomKeys()
  const file = openSync(path, 'w')
  const start = Date.now()
  for (let first = 0; first < count; first += 10_000) {
    const lines = Array.from({ length: Math.min(10_000, count - first) }, (_, index) => {
      const number = first + index
      // As issued at 20 a millisecond.
      const code = keys.secret('authorization_code', start + Math.floor(number / 20))
      return `${code} ${clientIdOf(number % clientCount)}\n`
    })
    writeSync(file, lines.join(''))
  }
  closeSync(file)
}

export function readExchanges(path: string): Exchange[] {
  const lines = readFileSync(path, 'latin1').trimEnd().split('\n')
  return lines.map((line) => ({ code: line.slice(0, 50), clientId: line.slice(51) }))
}

export const hasWrk: boolean = isInstalled('wrk')

function isInstalled(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`])
    return true
  } catch {
    return false
  }
}

interface WrkReport {
  readonly sent: number
  readonly failed: number
  readonly seconds: number
  readonly latencies: readonly (readonly [microseconds: number, count: number])[]
}

const script = fileURLToPath(new URL('tokens-load.lua', import.meta.url))

/** Loads with wrk, whose own work hardly takes anything from the server. Every server goes through the file once. */
export function wrkLoad(exchanges: string, connections: number, takesForms: (name: string) => boolean): Load {
  const used = new Map<string, number>()
  return async ({ name, port }, roundMs) => {
    const first = used.get(name) ?? 0
    const format = takesForms(name) ? 'form' : 'json'
    const options = ['-t1', `-c${connections}`, `-d${Math.max(1, Math.round(roundMs / 1000))}s`, '-s', script]
    const args = [...options, `http://127.0.0.1:${port}`, '--', exchanges, `${first}`, format]
    const { stdout } = await promisify(execFile)('wrk', args, { maxBuffer: 64 * 1024 * 1024 })
    const report = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as WrkReport
    if (report.failed > 0)
      throw new Error(`${name}: ${report.failed} requests failed.\n${stdout.slice(0, 1000)}`)
    used.set(name, first + report.sent)
    const took = report.latencies.flatMap(([microseconds, count]) =>
      Array.from({ length: count }, () => microseconds / 1000),
    )
    return { took, seconds: report.seconds }
  }
}

/** The bytes of one request after the other, for a caller in Node. */
export function requestsOf(exchanges: readonly Exchange[], port: number, form: boolean): () => string {
  let last = 0
  return () => {
    const exchange = exchanges[last]
    if (exchange === undefined) throw new Error('Out of codes: set CODES higher.')
    last += 1
    const fields = {
      grant_type: 'authorization_code',
      code: exchange.code,
      redirect_uri: redirectUri,
      client_id: exchange.clientId,
      client_secret: secretOf(exchange.clientId),
    }
    const body = form ? new URLSearchParams(fields).toString() : JSON.stringify(fields)
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
    return `POST /v4/oauth2/token HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }
}
