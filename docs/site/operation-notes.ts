/** What the document cannot know: the page's name, the way on, and how a credential is carried. */
export interface PageNotes {
  readonly file: string
  readonly title: string
  /** Where to read more, in Markdown, after the description in the document. */
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
    about: 'The whole flow, with a picture: [credentials and authorization](../guide/authorization.md).',
    ownCall: '`admin.createAccessToken({ scope, clientId, subject })` creates a token without a code',
  },
  updateLicense: {
    file: 'update-license.md',
    title: 'Update a license',
    about: 'More: [licenses](../guide/licenses.md).',
    ownCall: '`admin.updateLicense(licenseKey, { status })`, for a license of any reseller',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'RESELLER_TOKEN' },
  },
  generateLicense: {
    file: 'generate-license.md',
    title: 'Generate a license',
    about: 'More: [licenses](../guide/licenses.md).',
    ownCall: '`admin.createLicense({ resellerId, registeredTo, domainOrIp })`',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'RESELLER_TOKEN' },
  },
  checkDns: {
    file: 'check-dns.md',
    title: 'Check DNS',
    about:
      'Statuses, locations and a picture: [DNS check](../guide/dns.md). A 403 is sent only if [`dns.requiredScope`](../guide/options.md) is set.',
    ownCall: '[`api.checkDns({ domain, recordType })`](../guide/dns.md#build-a-dns-page)',
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'ACCESS_TOKEN' },
  },
  lookUpGameServer: {
    file: 'look-up-game-server.md',
    title: 'Look up a game server',
    about:
      'For a server that is down, the answer is a 500 `server_check_failed`: [show it as offline](../guide/blockgame.md#show-a-server-that-is-down-as-offline). More: [Minecraft servers](../guide/blockgame.md).',
    ownCall: '[`api.lookUpGameServer({ address })`](../guide/blockgame.md#build-a-status-page)',
    credential: { name: 'Basic', prefix: '', variable: 'API_KEY' },
  },
}
