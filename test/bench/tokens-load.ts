/** What the token benchmark sends: a file of codes and clients, by wrk where it is installed, else by Node. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { randomKeys } from 'utility-api'
import type { Load } from './http-load.ts'
import { wrkLoad } from './wrk.ts'

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

/** Every server goes through the file once. */
export function exchangesLoad(
  exchanges: string,
  connections: number,
  takesForms: (name: string) => boolean,
): Load {
  return wrkLoad('tokens-load.lua', connections, ({ name }, first) => [
    exchanges,
    `${first}`,
    takesForms(name) ? 'form' : 'json',
  ])
}

/** The requests of all exchanges, for a caller in Node. */
export function requestsOf(exchanges: readonly Exchange[], port: number, form: boolean): string[] {
  return exchanges.map(({ code, clientId }) => {
    const fields = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      client_secret: secretOf(clientId),
    }
    const body = form ? new URLSearchParams(fields).toString() : JSON.stringify(fields)
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
    return `POST /v4/oauth2/token HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  })
}
