// An API reference with "Try it out", beside the API it describes. Everything comes from node_modules: no CDN.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'

const storage = memoryStorage()
const api = createUtilityApi({ storage })
const serveApi = toNodeHandler(api)

interface File {
  readonly type: string
  readonly body: string | Buffer
}

const ui = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const files: Readonly<Record<string, File>> = {
  '/': { type: 'text/html; charset=utf-8', body: readFileSync(join(import.meta.dirname, 'page.html')) },
  '/page.js': { type: 'text/javascript', body: readFileSync(join(import.meta.dirname, 'page.js')) },
  '/openapi.json': { type: 'application/json', body: JSON.stringify(api.openapi()) },
  '/swagger-ui.css': { type: 'text/css', body: readFileSync(join(ui, 'swagger-ui.css')) },
  '/swagger-ui-bundle.js': {
    type: 'text/javascript',
    body: readFileSync(join(ui, 'swagger-ui-bundle.js')),
  },
  '/favicon.ico': { type: 'image/png', body: readFileSync(join(ui, 'favicon-32x32.png')) },
}

const server = createServer((request, response) => {
  const file = request.method === 'GET' ? files[request.url ?? ''] : undefined
  if (file === undefined) return void serveApi(request, response)
  response.writeHead(200, {
    'Content-Type': file.type,
    // Swagger UI draws with inline styles and data images; scripts come from here alone.
    'Content-Security-Policy':
      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
  })
  response.end(file.body)
}).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Listening on ${url}
Open that in a browser, or look at the document that it draws: curl ${url}/openapi.json`)

const { token } = await createAdmin({ storage }).createReseller({ name: 'Try it' })
console.log(`Reseller token to authorize with: ${token}`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
await api.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
