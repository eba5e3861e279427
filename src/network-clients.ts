import type { BlockgameClient } from './ports/blockgame-client.ts'
import type { DnsClient } from './ports/dns-client.ts'
import type { BlockgameClientOptions } from './blockgame.ts'

/** When code is loaded that no call has needed yet. */
const loadedAfterMs = 1000

/** Returns a DNS client, whose code is loaded at the first query, or soon after the start. */
export function lazyDnsClient(): DnsClient {
  const lazy = onFirstUse(async () => (await import('./dns.ts')).createDnsClient())
  return {
    query: (question) => lazy.use((client) => client.query(question)),
    close: lazy.close,
  }
}

/** Returns a block-game client, whose code is loaded as that of the DNS client. Its options must have been checked. */
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
  const begin = (): Promise<Client> => {
    clearTimeout(timer)
    loading ??= load().then((client) => (loaded = client))
    return loading
  }
  // Not only at the first call: by then, an update may have replaced the files of a running server.
  const timer = setTimeout(() => void begin().catch(() => {}), loadedAfterMs).unref()
  return {
    use(work) {
      // At once: the questions of a check must leave together.
      if (loaded !== undefined) return work(loaded)
      return begin().then(work)
    },
    async close() {
      clearTimeout(timer)
      await loaded?.close()
    },
  }
}
