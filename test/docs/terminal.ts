import { join } from 'node:path'
import { fakeBlockgameServer, fakeDnsServer } from 'utility-api/testing'
import { outcomeOf, start } from '../cli/support/cli.ts'

// The picture at the top of the README: what the command really prints, asked of servers on loopback.

/** Where the picture is kept. */
export const pictureFile: string = join(import.meta.dirname, '../../docs/terminal.svg')

const domain = 'shop.example'
const gameName = 'play.shop.example'
const places = {
  Amsterdam: { ttl: 300, ip: '203.0.113.20', shown: '192.0.2.53', took: '12 ms' },
  Frankfurt: { ttl: 287, ip: '203.0.113.20', shown: '192.0.2.153', took: '9 ms' },
  Singapore: { ttl: 41, ip: '198.51.100.7', shown: '198.51.100.53', took: '168 ms' },
  Toronto: { ttl: 300, ip: '203.0.113.20', shown: '203.0.113.53', took: '87 ms' },
}

/** Draws it anew. */
export async function drawPicture(): Promise<string> {
  const [check, lookup] = await Promise.all([checkOutput(), lookupOutput()])
  const lines = [
    prompt(`npx utility-api dns ${domain}`),
    ...check,
    '',
    prompt(`npx utility-api ping ${gameName}`),
    ...lookup,
  ]
  return svgOf(lines)
}

function prompt(command: string): string {
  return `\u001b[2m$\u001b[22m \u001b[1m${command}\u001b[22m`
}

async function checkOutput(): Promise<string[]> {
  const servers = await Promise.all(
    Object.entries(places).map(async ([name, { ttl, ip, shown }]) => {
      const server = await fakeDnsServer({ records: [{ type: 'A', host: domain, ttl, ip }] })
      return { name, shown, server, address: `${server.ip}:${server.port}` }
    }),
  )
  const named = servers.map(({ name, address }) => `${name}=${address}`).join()
  const lines = await outputOf(['dns', domain, '--server', named], 3)
  await Promise.all(servers.map(({ server }) => server.close()))
  const shown = [{ address: 'RESOLVER', shown: 'RESOLVER' }, ...servers]
  return lines
    .map((line) =>
      inPlace(
        line,
        /RESOLVER|127\.0\.0\.1:\d+/,
        15,
        (found) => shown.find(({ address }) => address === found)?.shown,
      ),
    )
    .map((line) => inPlace(line, /TIME|\d+ ms/, 6, (found) => (found === 'TIME' ? found : timeIn(line))))
}

/** Text that is another one at each run, in a column of its own: another text, and as wide as the column shall be. */
function inPlace(
  line: string,
  pattern: RegExp,
  width: number,
  textFor: (found: string) => string | undefined,
): string {
  return line.replace(
    new RegExp(`(${pattern.source}) +`),
    (_, found: string) => `${(textFor(found) ?? found).padEnd(width)}  `,
  )
}

function timeIn(line: string): string | undefined {
  return Object.entries(places).find(([name]) => line.includes(name))?.[1].took
}

async function lookupOutput(): Promise<string[]> {
  const game = await fakeBlockgameServer({
    status: {
      version: { name: '1.21.4', protocol: 769 },
      players: {
        online: 3,
        max: 20,
        sample: ['Ada', 'Grace', 'Linus'].map((name, at) => ({ name, id: String(at) })),
      },
      description: 'Build something lasting',
    },
  })
  const address = `${game.ip}:${game.port}`
  const lines = await outputOf(['ping', address], 0)
  await game.close()
  return lines.map((line) =>
    line
      .replace(`${address} is up`, `${gameName} is up`)
      .replace(address, '203.0.113.25:25565')
      .replace(/\d+ ms/, '23 ms'),
  )
}

async function outputOf(args: readonly string[], expectedCode: number): Promise<string[]> {
  const { code, stdout, stderr } = await outcomeOf(start(args, { FORCE_COLOR: '1' }))
  if (code !== expectedCode || stderr !== '')
    throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout.trimEnd().split('\n')
}

const lineHeight = 20
const letterWidth = 8.4
const padding = 20
const barHeight = 36
const colors: Readonly<Record<string, string>> = {
  '31': '#ff7b72',
  '32': '#7ee787',
  '33': '#e3b341',
}

function svgOf(lines: readonly string[]): string {
  const pieces = lines.map(piecesOf)
  const longest = Math.max(...pieces.map((line) => line.reduce((sum, { text }) => sum + text.length, 0)))
  const width = Math.ceil(longest * letterWidth + 2 * padding)
  const height = barHeight + lines.length * lineHeight + padding
  const texts = pieces.flatMap((line, at) => {
    const y = barHeight + (at + 1) * lineHeight - 4
    return line.length === 0 ? [] : [`    <text x="${padding}" y="${y}">${line.map(spanOf).join('')}</text>`]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">`,
    `  <title id="title">A terminal: utility-api dns compares four resolvers, utility-api ping shows a game server</title>`,
    `  <rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="#0d1117" stroke="#484f58"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, at) => `  <circle cx="${padding + at * 20}" cy="18" r="6" fill="${fill}"/>`,
    ),
    '  <g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', \'Liberation Mono\', monospace" font-size="14" fill="#e6edf3">',
    ...texts,
    '  </g>',
    '</svg>',
    '',
  ].join('\n')
}

interface Piece {
  readonly text: string
  readonly style: string
}

/** A line in pieces of one style, by the codes that a terminal would obey. */
function piecesOf(line: string): Piece[] {
  const pieces: Piece[] = []
  const styles = new Set<string>()
  // oxlint-disable-next-line no-control-regex
  for (const [, code, text = ''] of line.matchAll(/\u001b\[(\d+)m|([^\u001b]+)/g)) {
    if (code === undefined) pieces.push({ text, style: [...styles].map(attributeOf).join('') })
    else if (code === '39') for (const color of Object.keys(colors)) styles.delete(color)
    else if (code === '22') for (const weight of ['1', '2']) styles.delete(weight)
    else styles.add(code)
  }
  return pieces
}

function attributeOf(code: string): string {
  if (code === '1') return ' font-weight="bold"'
  if (code === '2') return ' fill="#8b949e"'
  return ` fill="${colors[code] ?? 'inherit'}"`
}

function spanOf({ text, style }: Piece): string {
  const escaped = text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    // Others are folded into one, by some readers whatever the file says.
    .replaceAll(' ', '\u00a0')
  return `<tspan${style}>${escaped}</tspan>`
}
