import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createAdmin, createUtilityApi, randomKeys, type Admin, type UtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { pageNotes } from '../../docs/site/operation-notes.ts'
import { call } from '../storage/support/call.ts'
import { newLicense } from '../storage/support/license.ts'
import { idleClients } from '../support/idle-clients.ts'

// The samples of the operations' pages do what they say, on a service that has the rows they speak of.

const { openapi } = createUtilityApi({ storage: memoryStorage() })
const exchange = openapi().paths['/v4/oauth2/token']?.['post'] as {
  requestBody: { content: { 'application/json': { example: Record<string, string> } } }
}
const body = exchange.requestBody.content['application/json'].example

interface SampledService extends AsyncDisposable {
  readonly port: number
  /** The credentials that samples take from variables. */
  readonly env: Record<string, string>
  readonly api: UtilityApi
  readonly admin: Admin
  /** Of the answers sent. */
  readonly statuses: number[]
}

/** A service on a port of its own. */
async function startService(): Promise<SampledService> {
  const storage = memoryStorage()
  const keys = randomKeys()
  const keyGenerator = {
    ...keys,
    secret: (kind: Parameters<typeof keys.secret>[0], at: number) =>
      kind === 'authorization_code' ? String(body['code']) : keys.secret(kind, at),
  }
  const admin = createAdmin({ storage, keyGenerator })
  const { token, resellerId } = await admin.createReseller()
  const { accessToken } = await admin.createAccessToken({ scope: '' })
  const { apiKey } = await admin.createApiKey()
  const { client_id: clientId = '', client_secret: clientSecret = '', redirect_uri: redirectUri = '' } = body
  await admin.createClient({ clientId, clientSecret, redirectUris: [redirectUri] })
  await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '' })
  const license = newLicense('LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR', { status: 'invalid', resellerId })
  await storage.insertLicense(license, undefined, call)
  const api = createUtilityApi({
    storage,
    // The key of the samples is nobody's: its check symbols are wrong.
    keyGenerator: { ...keys, parseLicenseKey: (text) => text },
    ...idleClients,
  })
  const statuses: number[] = []
  const server = createServer(toNodeHandler(api)).listen(0, '127.0.0.1')
  server.on('request', (_, response) => response.on('close', () => statuses.push(response.statusCode)))
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    api,
    admin,
    statuses,
    env: { RESELLER_TOKEN: token, ACCESS_TOKEN: accessToken, API_KEY: apiKey },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await api.close()
    },
  }
}

const samples = Object.values(pageNotes).flatMap(({ file }) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations', file), 'utf8')
  const blocks = page.matchAll(/^\*\*(.+)\*\*\n\n```\w+\n([^]*?)```$/gm)
  return [...blocks].map(([, name = '', text = '']) => ({ file, name, text }))
})

/** Prints what a sample prints. */
const runners: Readonly<Record<string, (text: string, service: SampledService) => Promise<string>>> = {
  curl: (text, { env }) => printedBy('sh', ['-c', text], env),
  PHP: (text, { env }) => printedBy('php', ['-r', text.replace('<?php', '')], env),
  Python: (text, { env }) => printedBy('python3', ['-c', text], env),
  fetch: runTypeScript,
  'Typed call': runTypeScript,
}

async function printedBy(program: string, args: string[], env: Record<string, string>): Promise<string> {
  return (await promisify(execFile)(program, args, { env: { PATH: process.env['PATH'], ...env } })).stdout
}

async function runTypeScript(text: string, { env, api, admin }: SampledService): Promise<string> {
  const printed: unknown[] = []
  const AsyncFunction = (async () => {}).constructor as new (
    ...texts: string[]
  ) => (...values: unknown[]) => Promise<void>
  const program = new AsyncFunction('process', 'console', 'api', 'admin', stripTypeScriptTypes(text))
  await program({ env }, { log: (...values: unknown[]) => printed.push(...values) }, api, admin)
  return JSON.stringify(printed)
}

test('every page has a sample for each way', () => {
  expect(samples.map(({ name }) => name)).toEqual(
    Object.keys(answers).flatMap(() => ['curl', 'fetch', 'Typed call', 'PHP', 'Python']),
  )
})

/** What each prints of the answer. */
const answers: Readonly<Record<string, RegExp>> = {
  'exchange-token.md': /uapi_at_/,
  'generate-license.md': /Ada Lovelace/,
  'update-license.md': /License updated|^\[true\]$/,
  'check-dns.md': /NODATA/,
  'look-up-game-server.md': /play\.example\.com/,
}

const programs: Readonly<Record<string, string>> = { curl: 'curl', PHP: 'php', Python: 'python3' }

test.for(samples)('$name in $file', async ({ file, name, text }, { skip }) => {
  const program = programs[name]
  skip(program !== undefined && spawnSync(program, ['--version']).error !== undefined, `needs ${program}`)
  await using service = await startService()
  const local = text.replace('http://localhost:3000', `http://127.0.0.1:${service.port}`)
  expect(await runners[name]?.(local, service)).toMatch(answers[file] ?? 'an answer')
  expect(service.statuses).toEqual(name === 'Typed call' ? [] : [200])
})
