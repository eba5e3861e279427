// A page that lists game servers: one program asks them all, and every visitor gets what it knows.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createBlockgameClient } from 'utility-api/blockgame'
import { createWatcher } from './watcher.ts'
import { startWorld } from './world.ts'

const intervalMs = 60_000
const own = process.env['SERVERS']?.split(',').map((address) => address.trim())
const world = own === undefined ? await startWorld() : undefined
// The servers of the example are on this machine. Others must have public addresses: their names lead where their owners like.
const client = createBlockgameClient(
  world === undefined ? {} : { allowAddress: ({ ip }) => ip === '127.0.0.1' },
)
const watcher = createWatcher({ client, addresses: own ?? world?.addresses ?? [] })

const stopping = new AbortController()
async function watch(): Promise<void> {
  for (;;) {
    const { signal } = stopping
    await Promise.all([watcher.refresh(signal), delay(intervalMs, undefined, { signal })])
  }
}
const watching = watch().catch((error: unknown) => {
  if (!stopping.signal.aborted) throw error
})

const file = (name: string, type: string) => ({ type, body: readFileSync(join(import.meta.dirname, name)) })
const files: Readonly<Record<string, { readonly type: string; readonly body: Buffer }>> = {
  '/': file('page.html', 'text/html; charset=utf-8'),
  '/page.css': file('page.css', 'text/css'),
  '/page.js': file('page.js', 'text/javascript'),
  '/description.js': file('description.js', 'text/javascript'),
}

const server = createServer((request, response) => {
  const found = files[request.url ?? '']
  if (request.url === '/servers') {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(watcher.list()))
    return
  }
  response.writeHead(found === undefined ? 404 : 200, {
    'Content-Type': found?.type ?? 'text/plain',
    // What servers say is drawn as text. Should that ever fail, nothing runs and nothing is fetched.
    'Content-Security-Policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-ancestors 'none'",
  })
  response.end(found?.body ?? 'Not found\n')
}).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Listening on ${url}
Open that in a browser, or look at the list that it draws: curl ${url}/servers
To list other servers: SERVERS=play.example.com,mc.example.org npm start`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
stopping.abort()
server.close()
await watching
await client.close()
await world?.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
