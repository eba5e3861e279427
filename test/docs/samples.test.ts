import { callWithin } from 'utility-api/storage'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createAdmin, createUtilityApi, randomKeys } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import { pageNotes } from '../../docs/site/operation-notes.ts'

// The samples of the operations' pages do what they say, on a service that has the rows they speak of.

const call = callWithin(Infinity)
const { openapi } = createUtilityApi({ storage: memoryStorage() })
const exchange = openapi().paths['/v4/oauth2/token']?.['post'] as {
  requestBody: { content: { 'application/json': { example: Record<string, string> } } }
}
const body = exchange.requestBody.content['application/json'].example

/** A service on a port of its own; the credentials that samples take from variables. */
async function startService(): Promise<{ port: number; env: Record<string, string> } & AsyncDisposable> {
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
  await storage.insertLicense(
    {
      licenseKey: 'LIC-75XVC-XCH31-DRPY0-5VTSW-B1ZKR',
      registeredTo: 'Grace',
      domainOrIp: 'old.example',
      comparedDomain: 'old.example',
      status: 'invalid',
      resellerId,
      createdAt: 0,
      updatedAt: 0,
      reference: null,
      expiresAt: null,
    },
    undefined,
    call,
  )
  const api = createUtilityApi({
    storage,
    // The key of the samples is nobody's: its check symbols are wrong.
    keyGenerator: { ...keys, parseLicenseKey: (text) => text },
    dns: {
      client: {
        query: async () => ({
          status: 'NODATA',
          records: [],
          cnameChain: [],
          transport: 'udp',
          latencyMs: 1,
        }),
        close: async () => {},
      },
    },
    blockgame: {
      client: {
        status: async ({ host, port }) => ({
          ip: '203.0.113.25',
          port: port ?? 0,
          players: { online: 1, max: 2 },
          version: { name: host, protocol: 1 },
          latencyMs: 1,
          srvRecord: null,
          description: '',
        }),
        close: async () => {},
      },
    },
  })
  const server = createServer(toNodeHandler(api)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    env: { RESELLER_TOKEN: token, ACCESS_TOKEN: accessToken, API_KEY: apiKey },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await api.close()
    },
  }
}

function sample(file: string, language: string, port: number): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations', file), 'utf8')
  const [, text = ''] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page) ?? []
  expect(text).not.toBe('')
  return text.replace('http://localhost:3000', `http://127.0.0.1:${port}`)
}

const files = Object.values(pageNotes).map(({ file }) => file)

test.each(files)('curl in %s is answered 200', async (file) => {
  await using service = await startService()
  const command = sample(file, 'sh', service.port).replace('curl ', `curl -s -w '\\n%{http_code}' `)
  const env = { PATH: process.env['PATH'], ...service.env }
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { env })
  expect(stdout).toMatch(/\n200$/)
})

test.each(files)('fetch in %s is answered 200', async (file) => {
  await using service = await startService()
  const printed: unknown[] = []
  const program = stripTypeScriptTypes(sample(file, 'ts', service.port))
  const AsyncFunction = (async () => {}).constructor as new (
    ...texts: string[]
  ) => (...values: unknown[]) => Promise<void>
  await new AsyncFunction('process', 'console', program)(
    { env: service.env },
    { log: (...values: unknown[]) => printed.push(...values) },
  )
  expect(printed[0]).toBe(200)
})
