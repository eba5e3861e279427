import { invalidOption, requireOptions } from '../domain/arguments.ts'
import type { DnsClient, DnsQuestion } from '../ports/dns-client.ts'
import { checkedServer, clientOver } from './client-over.ts'
import { sendOverHttps } from './https.ts'
import type { Stream } from './reply-listener.ts'

/**
 * Options of {@link createDohClient}.
 *
 * @group DNS
 */
export interface DohClientOptions {
  /**
   * Returns the URL to ask for a resolver, or null if there is none: the answer is then `UNREACHABLE`.
   *
   * Default: the server's `doh`.
   */
  readonly endpoint?: (server: DnsQuestion['server']) => string | null
  /** What sends the requests, for instance by HTTP/2 or through a proxy. Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/**
 * Creates a client that asks resolvers over HTTPS, for hosts that cannot send DNS: serverless ones, and those whose firewall
 * closes UDP port 53.
 *
 * Answers, limits and deadlines are those of {@link createDnsClient}. What is no DNS message, such as a redirect or another
 * status than 2xx, is `UNREACHABLE`, and the `cause` says what came.
 *
 * @example
 * ```ts
 * import { createDohClient } from 'utility-api/dns'
 *
 * const client = createDohClient()
 * const server = { ip: '9.9.9.10', doh: 'https://dns10.quad9.net/dns-query' }
 * const { status, cause } = await client.query({ name: 'example.com', type: 'MX', server })
 * console.log(status, cause)
 * await client.close()
 * ```
 *
 * @throws `UtilityApiError` `invalid_options` if an option is invalid or unknown
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8484 | RFC 8484}
 *
 * @group DNS
 */
export function createDohClient(options: DohClientOptions = {}): DnsClient {
  requireOptions(options, ['endpoint', 'fetch'])
  const { endpoint = ({ doh }) => doh ?? null, fetch = globalThis.fetch } = options
  for (const [name, value] of Object.entries({ endpoint, fetch }))
    if (typeof value !== 'function') throw invalidOption(name, 'must be a function')
  return clientOver({
    name: 'https',
    timeoutMs: 5000,
    routeTo({ server }) {
      checkedServer(server)
      const url = endpoint(server)
      const send: Stream['send'] = (message, listener) => sendOverHttps(fetch, url, message, listener)
      return { pool: undefined, stream: { name: 'https', send } }
    },
    close() {},
  })
}
