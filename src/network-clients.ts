import type { BlockgameClient } from './ports/blockgame-client.ts'
import type { DnsClient } from './ports/dns-client.ts'
import type { BlockgameClientOptions } from './blockgame.ts'

/** Returns a DNS client, whose code is loaded at the first query. */
export function lazyDnsClient(): DnsClient {
  const lazy = onFirstUse(async () => (await import('./dns.ts')).createDnsClient())
  return {
    query: (question) => lazy.use((client) => client.query(question)),
    close: lazy.close,
  }
}

/** Returns a block-game client, whose code is loaded at the first lookup. Its options must have been checked. */
export function lazyBlockgameClient(options: BlockgameClientOptions): BlockgameClient {
  const lazy = onFirstUse(async () => (await import('./blockgame.ts')).createBlockgameClient(options))
  return {
    status: (target) => lazy.use((client) => client.status(target)),
    close: lazy.close,
  }
}

interface OnFirstUse<Client> {
  use<Answer>(work: (client: Client) => Promise<Answer>): Promise<Answer>
  /** Closes the client if there is one. Calls that still wait for one have been aborted by then. */
  close(): Promise<void>
}

function onFirstUse<Client extends { close(): Promise<void> }>(
  load: () => Promise<Client>,
): OnFirstUse<Client> {
  let loading: Promise<Client> | undefined
  let loaded: Client | undefined
  return {
    use(work) {
      // At once: the questions of a check must leave together.
      if (loaded !== undefined) return work(loaded)
      loading ??= load().then((client) => (loaded = client))
      return loading.then(work)
    },
    async close() {
      await loaded?.close()
    },
  }
}
