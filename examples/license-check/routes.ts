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
  const [path = ''] = (request.url ?? '').split('?')
  if (path === '/license-keys') {
    response.setHeader('Content-Type', 'application/jwk-set+json').end(JSON.stringify(api.licenseJwks()))
    return
  }
  const key = keyIn(path)
  if (key === null) {
    response.writeHead(404).end()
    return
  }
  const options = { lifetimeSeconds, audience: 'shop-plugin' }
  const statement = await api.signLicense(key, options)
  response.setHeader('Content-Type', 'application/jwt').end(statement)
}

/** Returns the license key in a path, or null. A path that cannot be decoded has none, and is not a failure. */
function keyIn(path: string): string | null {
  const segment = /^\/license\/([^/]+)$/.exec(path)?.[1]
  try {
    return segment === undefined ? null : decodeURIComponent(segment)
  } catch {
    return null
  }
}
