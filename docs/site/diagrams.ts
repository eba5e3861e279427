import type { Sequence } from './sequence.ts'

/** The pictures of the guide, by file name. */
export const diagrams: Readonly<Record<string, Sequence>> = {
  'authorization.svg': {
    title: 'From the user to an access token: authorization code and PKCE',
    participants: ['Browser', 'Client', 'Your page', 'utility-api'],
    steps: [
      { over: 'Client', text: ['makes a code_verifier', 'and its S256 challenge'] },
      { from: 'Client', to: 'Browser', text: ['redirect: client_id,', 'code_challenge, state'] },
      { from: 'Browser', to: 'Your page', text: ['GET /authorize'] },
      { over: 'Your page', text: ['readAuthorization-', 'Request()'] },
      { from: 'Your page', to: 'Browser', text: ['May the client do this?'], isReply: true },
      { from: 'Browser', to: 'Your page', text: ['Yes'] },
      { over: 'Your page', text: ['grantAuthorization():', 'a code for 60 s'] },
      {
        from: 'Your page',
        to: 'Browser',
        text: ['303 to redirect_uri: code, state'],
        isReply: true,
      },
      { from: 'Browser', to: 'Client', text: ['code, state'] },
      {
        from: 'Client',
        to: 'utility-api',
        text: ['POST /v4/oauth2/token', 'code, code_verifier, client_secret'],
      },
      { over: 'utility-api', text: ['spends the code, stores', 'the token: one step'] },
      { from: 'utility-api', to: 'Client', text: ['access_token, expires_in: 3600'], isReply: true },
      { from: 'Client', to: 'utility-api', text: ['Authorization: Bearer …'] },
    ],
  },
  'dns-check.svg': {
    title: 'A DNS check: all resolvers are asked at once, inside one deadline',
    participants: ['Caller', 'utility-api', 'Resolver 1', 'Resolver 2'],
    steps: [
      { from: 'Caller', to: 'utility-api', text: ['GET /v3/tools/', 'dnscheck'] },
      { over: 'utility-api', text: ['token, then headers', 'the same check under', 'way or kept? shared'] },
      { from: 'utility-api', to: 'Resolver 1', text: ['question over UDP'] },
      { from: 'utility-api', to: 'Resolver 2', text: ['the same question, at once'] },
      { from: 'Resolver 1', to: 'utility-api', text: ['truncated'], isReply: true },
      { from: 'utility-api', to: 'Resolver 1', text: ['again over TCP'] },
      { from: 'Resolver 1', to: 'utility-api', text: ['records'], isReply: true },
      { over: 'Resolver 2', text: ['says nothing'] },
      { over: 'utility-api', text: ['after timeoutMs: 5 s', 'status TIMEOUT'] },
      { from: 'utility-api', to: 'Caller', text: ['200: one element', 'for each location'], isReply: true },
    ],
  },
}
