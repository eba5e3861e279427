// A page that tells whether a change of DNS records has arrived everywhere, and if not, by when it must have.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { isIPv6, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createUtilityApi, defaultResolverLocations, type ResolverLocation } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { streamCheck } from './stream-check.ts'
import { startWorld } from './world.ts'

const own = process.env['RESOLVERS']
const world = own === undefined ? await startWorld() : undefined
const locations = world?.locations ?? (own === 'public' ? defaultResolverLocations : named(own ?? ''))
const api = createUtilityApi({
  storage: memoryStorage(),
  // The TTLs of an answer from the cache would be those of seconds ago, and every "at the latest" too late by as much.
  dns: { locations, cacheTtlMs: 0 },
})

function named(list: string): ResolverLocation[] {
  return list.split(',').map((address) => {
    // With a port, an IPv6 address is in brackets.
    const [, ip = address, port = '53'] = isIPv6(address) ? [] : (/^\[?(.+?)\]?:(\d+)$/.exec(address) ?? [])
    return { location: address, ip, provider: 'Resolver', port: Number(port) }
  })
}

const file = (name: string, type: string) => ({ type, body: readFileSync(join(import.meta.dirname, name)) })
const rows = locations.map(({ location, provider }) => ({ location, provider }))
const files: Readonly<Record<string, { readonly type: string; readonly body: Buffer }>> = {
  '/': file('page.html', 'text/html; charset=utf-8'),
  '/page.css': file('page.css', 'text/css'),
  '/page.js': file('page.js', 'text/javascript'),
  '/locations': { type: 'application/json', body: Buffer.from(JSON.stringify(rows)) },
}

const server = createServer((request, response) => {
  // What zones say is drawn as text. Should that ever fail, nothing runs and nothing is fetched.
  response.setHeader(
    'Content-Security-Policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  )
  response.setHeader('X-Content-Type-Options', 'nosniff')
  const [path = ''] = (request.url ?? '').split('?')
  if (path === '/check') return void streamCheck(api, request, response)
  const found = files[path]
  response.writeHead(found === undefined ? 404 : 200, { 'Content-Type': found?.type ?? 'text/plain' })
  response.end(found?.body ?? 'Not found\n')
}).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Listening on ${url}
Open that in a browser, or look at what it draws: curl -N '${url}/check?name=shop.example&type=A&expect=203.0.113.20'
To ask other resolvers: RESOLVERS=192.0.2.53,192.0.2.54:5353 npm start, or RESOLVERS=public npm start`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
await world?.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
