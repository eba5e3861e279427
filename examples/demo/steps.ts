import type { Credentials, Targets } from './world.ts'

export const redirectUri = 'https://client.example/callback'

/** One operation as an HTTP request. */
export interface Step {
  readonly title: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export function exchangeStep({ clientId, clientSecret, code }: Credentials): Step {
  return {
    title: 'Exchange an authorization code for an access token',
    method: 'POST',
    path: '/v4/oauth2/token',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: clientId,
      client_secret: clientSecret,
    }),
  }
}

export function generateStep({ resellerToken }: Credentials): Step {
  return {
    title: 'Generate a reseller license',
    method: 'POST',
    path: '/v2/reseller/licenses/generate',
    headers: {
      Authorization: `Bearer ${resellerToken}`,
      'X-Registered-To': 'Ada Lovelace',
      'X-Domain-Or-IP': 'shop.example',
      'X-Status': 'valid',
    },
  }
}

export function updateStep({ resellerToken }: Credentials, licenseKey: string): Step {
  return {
    title: 'Update the license',
    method: 'PUT',
    path: `/v2/reseller/${licenseKey}/update`,
    headers: { Authorization: `Bearer ${resellerToken}`, 'X-Status': 'invalid' },
  }
}

export function checkStep(accessToken: string, { domain }: Targets): Step {
  return {
    title: 'Check DNS from several locations',
    method: 'GET',
    path: '/v3/tools/dnscheck',
    headers: { Authorization: `Bearer ${accessToken}`, 'X-Domain': domain, 'X-Record-Type': 'A' },
  }
}

export function lookupStep({ apiKey }: Credentials, { game }: Targets): Step {
  return {
    title: 'Look up a Minecraft server',
    method: 'GET',
    path: '/v4/games/blockgame/lookup',
    headers: { Basic: apiKey, 'X-Address': game },
  }
}

/** Formats the step as a line to paste into a shell. */
export function curlLine(baseUrl: string, { method, path, headers, body }: Step): string {
  const options = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined) options.push(`-d ${quote(body)}`)
  return ['curl -sS', ...(method === 'GET' ? [] : [`-X ${method}`]), ...options, quote(baseUrl + path)].join(
    ' ',
  )
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
