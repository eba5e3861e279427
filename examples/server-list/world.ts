// Twenty servers on this machine, so that the example runs without asking anybody else's.
import { crc32, deflateSync } from 'node:zlib'
import { fakeBlockgameServer } from 'utility-api/testing'

const names = [
  'Amber Hollow',
  'Birchwater',
  'Cinder Peak',
  'Driftwood',
  'Eastmarch',
  'Fernhill',
  'Glass Harbor',
  'Highmoor',
  'Ironbrook',
  'Juniper Isle',
  'Kestrel Rock',
  'Lantern Bay',
  'Mossgate',
  'Northlight',
  'Oakenfold',
  'Pinewatch',
  'Quarry Town',
  'Redcliff',
  'Saltmarsh',
  'Thornfield',
]

/** Every way in which servers write colors. */
const descriptions: readonly ((name: string) => unknown)[] = [
  (name) => `§6§l${name}§r §7» §aSurvival\n§8Season 4 has begun`,
  (name) => ({
    text: name,
    color: '#ff9f43',
    bold: true,
    extra: [{ text: ' — creative plots', color: 'gray', bold: false }],
  }),
  (name) => [
    { text: `${name} `, color: 'aqua' },
    { text: 'skyblock', color: 'white', italic: true },
  ],
  (name) => ({ translate: '%s: %s', with: [{ text: name, color: 'light_purple' }, 'mini games'] }),
  (name) => `§x§5§4§d§6§2§c${name} §nwhitelist§r §mclosed§r open`,
]

/** Starts the servers, and returns their addresses and what stops them. One is down, and one is of 2012. */
export async function startWorld(): Promise<{ addresses: string[]; close(): Promise<void> }> {
  const servers = await Promise.all(
    names.map((name, index) =>
      fakeBlockgameServer({
        era: index === 18 ? '1.4' : 'modern',
        pongDelayMs: (index * 7) % 50,
        status: {
          version: { name: index === 18 ? '1.5.2' : '1.21.4', protocol: index === 18 ? 61 : 769 },
          players: { online: (index * 37) % 90, max: 100 },
          description: index === 18 ? name : descriptions[index % descriptions.length]?.(name),
          favicon: index % 4 === 3 ? undefined : icon(index),
        },
      }),
    ),
  )
  const addresses = servers.map(({ ip, port }) => `${ip}:${port}`)
  await servers.at(-1)?.close()
  return { addresses, close: async () => void (await Promise.all(servers.map((server) => server.close()))) }
}

/** Draws an icon of 64 by 64 pixels: a hill under the sky, in colors of its own. */
function icon(seed: number): string {
  const rows = Array.from({ length: 64 }, (_, y) => {
    const pixels = Array.from({ length: 64 }, (__, x) => {
      const isHill = y > 40 + 10 * Math.sin((x + seed * 11) / 9)
      return isHill
        ? [40 + ((seed * 23) % 90), 110 + ((seed * 41) % 90), 60]
        : [110, 150 + ((seed * 13) % 80), 235]
    })
    return Buffer.from([0, ...pixels.flat()])
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(64, 0)
  header.writeUInt32BE(64, 4)
  header.set([8, 2], 8)
  const chunks = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks])
  return `data:image/png;base64,${png.toString('base64')}`
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
