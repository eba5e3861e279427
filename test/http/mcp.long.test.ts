import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codeBlocks } from '../docs/code-blocks.ts'
import { freePort } from '../support/free-port.ts'

// The guide's MCP server, asked by the client of the MCP SDK, which finds its way by itself.

const root = join(import.meta.dirname, '../..')
const clients = join(root, 'test/clients')
const sdk = join(clients, 'node_modules/@modelcontextprotocol/sdk/dist/esm/client')
const isThere = existsSync(sdk)
if (!isThere)
  console.warn('Skipped: the MCP SDK is not here (npm ci --ignore-scripts --prefix test/clients).')

const storage = `
import { createAdmin } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
export const storage = memoryStorage()
const redirectUris = ['http://localhost/callback']
await createAdmin({ storage }).createClient({ clientId: 'assistant', clientType: 'public', redirectUris })
`

/** Starts the program as the guide has it, and returns its address. */
async function start(): Promise<string> {
  const [program, ...more] = codeBlocks().filter(({ text }) => text.includes('new McpServer('))
  expect(more).toEqual([])
  // Beside the clients, so that what the program imports is found.
  const folder = mkdtempSync(join(clients, 'mcp-'))
  const port = await freePort()
  const text = (program?.text ?? '').replaceAll('3000', String(port))
  writeFileSync(join(folder, 'server.mjs'), stripTypeScriptTypes(text))
  writeFileSync(join(folder, 'storage.ts'), storage)
  copyFileSync(
    join(root, 'examples/authorization/authorization-page.ts'),
    join(folder, 'authorization-page.ts'),
  )
  const sources = join(root, 'test/support/sources.ts')
  const child = spawn(process.execPath, ['--import', sources, join(folder, 'server.mjs')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(() => {
    child.kill()
    rmSync(folder, { recursive: true })
  })
  const url = `http://localhost:${port}`
  await expect
    .poll(
      () =>
        fetch(url).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 15_000 },
    )
    .toBe(404)
  return url
}

/** What a person does at the page to which a client sends the browser: agrees, and is led back. */
async function agree(link: URL): Promise<void> {
  const page = await fetch(link)
  const [, key = ''] = /name="key" value="([^"]+)"/.exec(await page.text()) ?? []
  await fetch(new URL('/authorize', link), {
    method: 'POST',
    body: new URLSearchParams({ key, answer: 'allow' }),
  })
}

/** Listens as a native program does, on a port of the system. */
async function listen(): Promise<{ redirectUrl: string; answered: Promise<URLSearchParams> }> {
  const answer = Promise.withResolvers<URLSearchParams>()
  const server = createServer((request, response) => {
    response.end('You can close this window.')
    answer.resolve(new URLSearchParams(request.url?.split('?')[1]))
  }).listen(0, 'localhost')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { redirectUrl: `http://localhost:${port}/callback`, answered: answer.promise }
}

test.skipIf(!isThere)('the MCP SDK finds the server, lets the user agree, and calls a tool', async () => {
  const url = await start()
  const { Client } = await import(join(sdk, 'index.js'))
  const { StreamableHTTPClientTransport: Transport } = await import(join(sdk, 'streamableHttp.js'))
  const kept: { tokens?: object; verifier?: string; link?: URL } = {}
  const { redirectUrl, answered } = await listen()
  const authProvider = {
    redirectUrl,
    clientMetadata: { redirect_uris: [redirectUrl] },
    clientInformation: () => ({ client_id: 'assistant' }),
    tokens: () => kept.tokens,
    saveTokens: (tokens: object) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier ?? '',
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    redirectToAuthorization: (link: URL) => void (kept.link = link),
  }
  const first = new Transport(new URL(`${url}/mcp`), { authProvider })
  await expect(new Client({ name: 'test', version: '1' }).connect(first)).rejects.toThrow('Unauthorized')
  const link = kept.link ?? new URL('http://nowhere.example')
  expect(Object.fromEntries(link.searchParams)).toMatchObject({
    client_id: 'assistant',
    scope: 'profile',
    code_challenge_method: 'S256',
    resource: `${url}/mcp`,
  })
  await agree(link)
  const answer = await answered
  expect(answer.get('iss')).toBe(url)
  await first.finishAuth(answer.get('code') ?? '')

  const client = new Client({ name: 'test', version: '1' })
  const errors: Error[] = []
  Object.assign(client, { onerror: (error: Error) => errors.push(error) })
  await client.connect(new Transport(new URL(`${url}/mcp`), { authProvider }))
  expect(await client.callTool({ name: 'whoami' })).toEqual({
    content: [{ type: 'text', text: 'You are ada.' }],
  })
  await client.close()
  // It asks for a stream, and expects 405 if there is none.
  expect(errors.join()).not.toContain('Failed to open')
})
