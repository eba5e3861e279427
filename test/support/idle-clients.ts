import type { UtilityApiOptions } from 'utility-api'

const close = async (): Promise<void> => {}

/** Options of clients that answer at once and ask nobody. */
export const idleClients: Pick<UtilityApiOptions, 'dns' | 'blockgame'> = {
  dns: {
    client: {
      query: async () => ({ status: 'NODATA', records: [], cnameChain: [], transport: 'udp', latencyMs: 1 }),
      close,
    },
  },
  blockgame: {
    client: {
      status: async ({ host, port = 25_565 }) => ({
        ip: host,
        port,
        players: { online: 0, max: 0 },
        version: { name: '', protocol: -1 },
        description: '',
        latencyMs: 1,
        srvRecord: null,
      }),
      close,
    },
  },
}
