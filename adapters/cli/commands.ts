import type { Group } from './terminal/command.ts'

/** All commands. Each is loaded when it is run, so that none waits for the code of another. */
export const program: Group = {
  description: 'OAuth token exchange, reseller licenses, DNS check and game server lookup.',
  commands: {
    dev: {
      description:
        'Try everything at once, without a file: the five operations in memory, one of each credential, DNS and game servers on loopback, a page in the browser and curl lines to paste.',
      load: async () => (await import('./serving/dev.ts')).dev,
    },
    serve: {
      description: 'Serve the five operations over HTTP until Ctrl-C or SIGTERM.',
      load: async () => (await import('./serving/serve.ts')).serve,
    },
    migrate: {
      description: 'Create the tables, or bring them up to date.',
      load: async () => (await import('./provisioning/migrate.ts')).migrate,
    },
    client: {
      description: 'OAuth clients: list, create, update, rotate, revoke.',
      load: async () => (await import('./provisioning/client.ts')).client,
    },
    reseller: {
      description: 'Resellers and their tokens: list, create, token.',
      load: async () => (await import('./provisioning/reseller.ts')).reseller,
    },
    'api-key': {
      description: 'API keys for the game server lookup: list, create.',
      load: async () => (await import('./provisioning/api-key.ts')).apiKey,
    },
    code: {
      description: 'Authorization codes: issue.',
      load: async () => (await import('./provisioning/code.ts')).code,
    },
    token: {
      description: 'Access tokens: list, create.',
      load: async () => (await import('./provisioning/token.ts')).token,
    },
    revoke: {
      description: 'Revoke a client, a token or an API key.',
      load: async () => (await import('./provisioning/revoke.ts')).revoke,
    },
    'revoke-access': {
      description: 'End all tokens of a client, a user or a reseller, and their unspent codes.',
      load: async () => (await import('./provisioning/revoke.ts')).revokeAccess,
    },
    license: {
      description: 'Licenses: create, get, set, delete, list, count, sign, jwks.',
      load: async () => (await import('./provisioning/license.ts')).license,
    },
    purge: {
      description: 'Delete expired codes, tokens and idempotency keys. Run it daily.',
      load: async () => (await import('./provisioning/purge.ts')).purge,
    },
    openapi: {
      description: 'Print the OpenAPI 3.1 document.',
      load: async () => (await import('./serving/openapi.ts')).openapi,
    },
    dns: {
      description: 'Look up DNS records at several resolvers, and tell whether they agree.',
      load: async () => (await import('./lookups/dns.ts')).dns,
    },
    ping: {
      description: 'Ask a Minecraft server who is playing on it.',
      load: async () => (await import('./lookups/ping.ts')).ping,
    },
    help: {
      description: 'Show the help of a command.',
      load: async () => (await import('./terminal/help-command.ts')).help,
    },
    version: {
      description: 'Print the version.',
      load: async () => (await import('./terminal/version.ts')).version,
    },
  },
  examples: [
    'dev',
    'migrate --database utility.sqlite',
    'reseller create --name "Example Hosting" --database utility.sqlite',
    'serve --database utility.sqlite',
    'dns example.com MX',
    'ping play.example.com',
  ],
}
