/** What the document cannot know: the page's name, the way on, and how a credential is carried. */
export interface PageNotes {
  readonly file: string
  readonly title: string
  /** Markdown. */
  readonly about: string
  /** How the owner's program does the same without a request, in Markdown. */
  readonly ownCall: string
  /** The header of the credential, and the variable that samples take it from; none where it stands in the body. */
  readonly credential?: { readonly name: string; readonly prefix: string; readonly variable: string }
}

/** The pages by operation. */
export const pageNotes: Readonly<Record<string, PageNotes>> = {
  exchangeToken: {
    file: 'exchange-token.md',
    title: 'Exchange a code for a token',
    about:
      'This is the second half of the OAuth 2.0 authorization code flow: the client sends the code that it received at its redirection URI, and gets an access token. A code can be exchanged for one token only, however often and wherever it is sent. The body is JSON or a form; the client may send its id and secret with HTTP Basic authentication instead of in the body. The whole flow, with a picture: [credentials and authorization](../guide/authorization.md).',
    ownCall: '`admin.createAccessToken({ scope, clientId, subject })` creates a token without a code',
  },
  updateLicense: {
    file: 'update-license.md',
    title: 'Update a license',
    about:
      'Changes only the fields that are sent, in one statement that also checks the owner of the license. At least one of the three headers is required. If one of them is invalid, nothing is changed. The request has no body. More: [licenses](../guide/licenses.md).',
    ownCall: '`admin.updateLicense(licenseKey, { status })`, for a license of any reseller',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'RESELLER_TOKEN' },
  },
  generateLicense: {
    file: 'generate-license.md',
    title: 'Generate a license',
    about:
      'Creates a license with a new key for the reseller whose token is sent. Send an `Idempotency-Key` with every request that your program may retry: the repeat then gets the first answer instead of a second license. The request has no body. More: [licenses](../guide/licenses.md).',
    ownCall: '`admin.createLicense({ resellerId, registeredTo, domainOrIp })`',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'RESELLER_TOKEN' },
  },
  checkDns: {
    file: 'check-dns.md',
    title: 'Check DNS',
    about:
      'Asks every configured resolver for the records of a domain. The answer has one element for each location, in the configured order, even if a resolver fails. Statuses, locations and a picture: [DNS check](../guide/dns.md). A 403 is sent only if [`dns.requiredScope`](../guide/options.md) is set.',
    ownCall: '[`api.checkDns({ domain, recordType })`](../guide/dns.md#build-a-dns-page)',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'ACCESS_TOKEN' },
  },
  lookUpGameServer: {
    file: 'look-up-game-server.md',
    title: 'Look up a game server',
    about:
      'Asks a Minecraft server for what players see in their server list. The header that carries the API key is called `Basic`. For a server that is down, the answer is a 500 `server_check_failed`: [show it as offline](../guide/blockgame.md#show-a-server-that-is-down-as-offline). More: [Minecraft servers](../guide/blockgame.md).',
    ownCall: '[`api.lookUpGameServer({ address })`](../guide/blockgame.md#build-a-status-page)',
    credential: { name: 'Basic', prefix: '', variable: 'API_KEY' },
  },
}
