import { command, type AnyCommand } from '../terminal/command.ts'
import { devPages } from './dev-pages.ts'
import { createDevWorld, type DevWorld } from './dev-world.ts'
import { createService } from './http-service.ts'
import { listen, portOption } from './listen.ts'
import { integer } from '../terminal/option-values.ts'
import { columns, printFields, styled } from '../terminal/output.ts'
import { requestLog } from './request-log.ts'
import { watchForStop } from '../terminal/stop-signal.ts'
import { wrap } from '../terminal/terminal-text.ts'

export const dev: AnyCommand = command({
  args: {
    ...portOption,
  },
  notes: ['It listens on 127.0.0.1 only. Ctrl-C ends it and leaves nothing behind.'],
  examples: ['dev', 'dev --port 8080'],
  async run({ port }) {
    const wanted = integer('port', port, 0, 65_535)
    const watcher = requestLog('line')
    const spent = { next: (): void => {} }
    await using world = await createDevWorld({
      ...watcher.options,
      onRequestEnd(event) {
        watcher.options.onRequestEnd?.(event)
        if (event.operation === 'exchangeToken') spent.next()
      },
    })
    const options = { prefix: '', trustProxy: 0, openapi: true, pages: devPages(world) }
    const service = createService(watcher.watch(world.api), options)
    using stop = watchForStop()
    const url = await listen(service.server, wanted, '127.0.0.1')
    const invitation = 'Open it in a browser: each operation is a form there. Or paste a request.'
    console.log([`Listening on ${url}\n`, ...wrap(invitation, columns()), ''].join('\n'))
    const { clientId, clientSecret, redirectUri, resellerToken, accessToken, apiKey } = world.credentials
    printFields({ clientId, clientSecret, redirectUri, resellerToken, accessToken, apiKey }, false)
    for (const step of [await exchangeStep(world), ...lastingSteps(world)]) printStep(url, step)
    const note = 'Everything is in memory and on loopback; /openapi.json describes it. Ctrl-C ends it.'
    console.log(['', ...wrap(note, columns())].join('\n'))
    spent.next = () => void exchangeStep(world).then((step) => printStep(url, step))
    await stop.stopped
    spent.next = () => {}
    await service.drain(drainMs)
  },
})

/** How long to wait for requests in progress. They are the developer's own, so there is no need to wait long. */
const drainMs = 1000

/** One operation as an HTTP request. */
interface Step {
  readonly title: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

async function exchangeStep({ credentials, issueCode }: DevWorld): Promise<Step> {
  const { clientId, clientSecret, redirectUri } = credentials
  return {
    title: 'Exchange a code for an access token, once; a new code follows',
    method: 'POST',
    path: '/v4/oauth2/token',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(
      {
        grant_type: 'authorization_code',
        code: await issueCode(),
        redirect_uri: redirectUri,
        client_id: clientId,
        client_secret: clientSecret,
      },
      null,
      2,
    ),
  }
}

/** Returns the steps that can be repeated. */
function lastingSteps({ credentials, domain, gameServer }: DevWorld): Step[] {
  const { resellerToken, licenseKey, accessToken, apiKey } = credentials
  return [
    {
      title: 'Generate a reseller license',
      method: 'POST',
      path: '/v2/reseller/licenses/generate',
      headers: {
        Authorization: `Bearer ${resellerToken}`,
        'X-Registered-To': 'Ada Lovelace',
        'X-Domain-Or-IP': domain,
        'X-Status': 'valid',
      },
    },
    {
      title: 'Update a license',
      method: 'PUT',
      path: `/v2/reseller/${licenseKey}/update`,
      headers: { Authorization: `Bearer ${resellerToken}`, 'X-Status': 'invalid' },
    },
    {
      title: 'Check DNS from several locations',
      method: 'GET',
      path: '/v3/tools/dnscheck',
      headers: { Authorization: `Bearer ${accessToken}`, 'X-Domain': domain, 'X-Record-Type': 'A' },
    },
    {
      title: 'Look up a Minecraft server',
      method: 'GET',
      path: '/v4/games/blockgame/lookup',
      headers: { Basic: apiKey, 'X-Address': gameServer },
    },
  ]
}

function printStep(url: string, { title, method, path, headers, body }: Step): void {
  const start = method === 'GET' ? 'curl -sS' : `curl -sS -X ${method}`
  const options = [
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ]
  console.log(`\n${styled('bold', `# ${title}`)}`)
  console.log([`${start} ${quoted(url + path)}`, ...options].join(' \\\n  '))
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
