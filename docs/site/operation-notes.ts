/** What the document cannot know: the page's name, the way on, and how a credential is carried. */
export interface PageNotes {
  readonly file: string
  readonly title: string
  /** The pages it stands with in the navigation. */
  readonly group: string
  /** Where to read more, in Markdown, after the description in the document. */
  readonly about: string
  /** How the owner's program does the same without a request, by the fields of the examples and the examples by name. */
  readonly typedCall: (fields: string, examples: Readonly<Record<string, string>>) => string
  /** The header of the credential, and the variable that samples take it from; none where it stands in the body. */
  readonly credential?: { readonly name: string; readonly prefix: string; readonly variable: string }
}

/** The pages by operation. */
export const pageNotes: Readonly<Record<string, PageNotes>> = {
  exchangeToken: {
    file: 'exchange-token.md',
    title: 'Exchange a code for a token',
    group: 'Tokens',
    about: 'The whole flow, with a picture: [credentials and authorization](../guide/authorization.md).',
    typedCall: () => "console.log(await admin.createAccessToken({ scope: '' })) // Without a code.",
  },
  updateLicense: {
    file: 'update-license.md',
    title: 'Update a license',
    group: 'License keys',
    about: 'More: [licenses](../guide/licenses.md).',
    typedCall: (fields, { license_key }) =>
      `// Of any reseller.
console.log(await admin.updateLicense('${license_key}', { ${fields} }))`,
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'RESELLER_TOKEN' },
  },
  generateLicense: {
    file: 'generate-license.md',
    title: 'Generate a license',
    group: 'License keys',
    about: 'More: [licenses](../guide/licenses.md).',
    typedCall: (fields) => `const { resellerId } = await admin.createReseller()
console.log(await admin.createLicense({ resellerId, ${fields} }))`,
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'RESELLER_TOKEN' },
  },
  checkDns: {
    file: 'check-dns.md',
    title: 'Check DNS',
    group: 'DNS checks',
    about:
      'Statuses, locations and a picture: [DNS check](../guide/dns.md). A 403 is sent only if [`dns.requiredScope`](../guide/options.md) is set.',
    typedCall: (fields) => `console.log(await api.checkDns({ ${fields} }))`,
    credential: { name: 'Authorization', prefix: 'Bearer ', variable: 'ACCESS_TOKEN' },
  },
  lookUpGameServer: {
    file: 'look-up-game-server.md',
    title: 'Look up a game server',
    group: 'Minecraft status',
    about:
      'For a server that is down, the answer is a 500 `server_check_failed`: [show it as offline](../guide/blockgame.md#show-a-server-that-is-down-as-offline). More: [Minecraft servers](../guide/blockgame.md).',
    typedCall: (fields) => `console.log(await api.lookUpGameServer({ ${fields} }))`,
    credential: { name: 'Basic', prefix: '', variable: 'API_KEY' },
  },
}
