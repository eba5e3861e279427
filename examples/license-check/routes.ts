// The two routes that your products need: a signed license, and the keys that verify it.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { UtilityApiError, type UtilityApi } from 'utility-api'

/** For a week after the last answer, an outage stops no customer, and a revocation may go unnoticed. */
const lifetimeSeconds = 7 * 86_400

export function licenseRoutes(api: UtilityApi): RequestListener {
  return (request, response) => {
    answer(api, request, response).catch((error: unknown) => {
      const { status, code } =
        error instanceof UtilityApiError ? error : { status: 500, code: 'internal_error' }
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error: code }))
    })
  }
}

async function answer(api: UtilityApi, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '', 'http://localhost')
  if (pathname === '/license-keys') {
    response.setHeader('Content-Type', 'application/jwk-set+json').end(JSON.stringify(api.licenseJwks()))
    return
  }
  const key = /^\/license\/([^/]+)$/.exec(pathname)?.[1]
  if (key === undefined) {
    response.writeHead(404).end()
    return
  }
  const options = { lifetimeSeconds, audience: 'shop-plugin' }
  const statement = await api.signLicense(decodeURIComponent(key), options)
  response.setHeader('Content-Type', 'application/jwt').end(statement)
}
