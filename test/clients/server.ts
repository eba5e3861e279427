import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin, createUtilityApi, type Admin, type UtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'

/** How a request to the token endpoint named its client. */
export interface Seen {
  readonly authorization: string | undefined
  readonly contentType: string | undefined
}

export interface ClientsServer {
  readonly admin: Admin
  readonly api: UtilityApi
  readonly issuer: string
  /** What has come to the token endpoint of each job. */
  readonly seen: ReadonlyMap<string, Seen[]>
  close(): Promise<void>
}

/** Starts a server with a page that agrees to everything, and a token endpoint of its own for each job. */
export async function startClientsServer(): Promise<ClientsServer> {
  const storage = memoryStorage()
  const api = createUtilityApi({ storage })
  const operations = toNodeHandler(api)
  const seen = new Map<string, Seen[]>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', issuer)
    if (url.pathname === '/authorize') {
      agree(url).then(
        (location) => response.writeHead(303, { Location: location }).end(),
        (error: unknown) => response.writeHead(400).end(String(error)),
      )
    } else if (url.pathname === '/.well-known/oauth-authorization-server') {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(metadata))
    } else {
      note(seen, request)
      operations(request, response)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const admin = createAdmin({ storage, oauth: { issuer } })
  const metadata = admin.authorizationServerMetadata({
    authorizationEndpoint: `${issuer}/authorize`,
    tokenEndpoint: `${issuer}/v4/oauth2/token`,
    scopes: ['profile'],
  })

  async function agree(url: URL): Promise<string> {
    const asked = await admin.readAuthorizationRequest(url.searchParams, { scopes: ['profile'] })
    if (asked.kind === 'refuse') throw new Error(asked.reason)
    if (asked.kind === 'redirect') return asked.location
    return (await admin.grantAuthorization(asked, { subject: 'ada' })).location
  }

  return {
    admin,
    api,
    issuer,
    seen,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await api.close()
    },
  }
}

/** Takes the job's number out of the path. */
function note(seen: Map<string, Seen[]>, request: IncomingMessage): void {
  const [, job, rest] = /^\/job\/(\d+)(\/.*)$/.exec(request.url ?? '') ?? []
  if (job === undefined || rest === undefined) return
  const { authorization, 'content-type': contentType } = request.headers
  seen.set(job, [...(seen.get(job) ?? []), { authorization, contentType }])
  request.url = rest
}
