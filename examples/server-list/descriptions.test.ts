import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { parseStatus } from 'utility-api/blockgame'
import { hasBrowser, launchBrowser } from '../../test/docs/browser.ts'
import { startExample, type RunningExample } from '../../test/package/start-example.ts'
import type { Listed } from './watcher.ts'

const names = [
  'black',
  'dark_blue',
  'dark_green',
  'dark_aqua',
  'dark_red',
  'dark_purple',
  'gold',
  'gray',
  'dark_gray',
  'blue',
  'green',
  'aqua',
  'red',
  'light_purple',
  'yellow',
  'white',
]
const codes = [...'0123456789abcdef']
const markup = '<img src=https://evil.example/x onerror=alert(1)>'

/** What servers say, by the address that the page shows above it. */
const said: Readonly<Record<string, unknown>> = {
  'named.example': names.slice(0, 8).map((color) => ({ text: `${color} `, color })),
  'also-named.example': names.slice(8).map((color) => ({ text: `${color} `, color })),
  'codes.example': codes.map((code) => `§${code}${code} `).join(''),
  'hex.example': ['#ff8800', '#0af', '#54D62C'].map((color) => ({ text: `${color} `, color })),
  'proxy-hex.example': '§x§f§f§8§8§0§0hexadecimal §x§0§0§a§a§f§fcodes',
  'no-color.example': ['url(//evil.example)', 'red;background:red', '#12345g', 'reset', ''].map((color) => ({
    text: `${color}. `,
    color,
  })),
  'styles.example': {
    extra: ['bold', 'italic', 'underlined', 'strikethrough', 'obfuscated'].map((style) => ({
      text: `${style} `,
      [style]: true,
    })),
  },
  'style-codes.example': '§lbold §r§oitalic §r§nunder §r§mstrike §r§kobfuscated§r plain',
  'all-styles.example': '§6§l§o§n§m§kall of them§r and none',
  'nested.example': {
    text: 'outer ',
    color: 'gold',
    bold: true,
    extra: [
      'inherits ',
      { text: 'overrides ', color: 'aqua', bold: false, extra: [{ text: 'deepest ', italic: true }] },
      { text: 'resets', color: 'reset' },
    ],
  },
  'list.example': [{ text: 'first ', color: 'green' }, 'in its style ', { text: 'last', color: 'red' }],
  'translate.example': {
    translate: '%2$s before %1$s',
    with: [
      { text: 'one', color: 'red' },
      { text: 'two', color: 'blue' },
    ],
  },
  'fallback.example': {
    translate: 'a.key.nobody.knows',
    fallback: 'Hello %s',
    with: ['Ada'],
    color: 'yellow',
  },
  'rtl.example': '§6שלום עולם §aabc §bمرحبا 123',
  'bidi-controls.example': '§6a\u202egpj.exe\u2066b',
  'emoji.example': '§6🎮👩‍👩‍👧 §b🇸🇪 §dé ñ ﷽',
  'markup.example': `${markup}<script>alert(1)</script>&lt;b&gt;`,
  'colored-markup.example': [
    { text: '</span></p>', color: 'red' },
    { text: '<style>*{display:none}</style>' },
  ],
  'lines.example': '§6first\n§bsecond\nthird, which has no room',
  'long.example': `${'wide '.repeat(30)}\n${'x'.repeat(200)}`,
  'empty.example': '',
}

const odd: readonly (readonly [address: string, status: object])[] = [
  ['version.example', { version: { name: `<b>1.21</b> ${markup}` } }],
  ['long-version.example', { version: { name: 'x'.repeat(200) } }],
  ['picture.example', { favicon: 'https://evil.example/icon.png' }],
  ['svg.example', { favicon: `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>` }],
  ['numbers.example', { players: { online: 2 ** 31, max: -1 } }],
]

function listed(address: string, status: object): Listed {
  const text = JSON.stringify({ players: { online: 3, max: 20 }, version: { name: '1.21.4' }, ...status })
  const { players, version, description, descriptionSpans, favicon } = parseStatus(text)
  return {
    address,
    state: 'online',
    players,
    version: version.name,
    pingMs: 12,
    description: descriptionSpans ?? [{ text: description }],
    ...(favicon !== undefined && { favicon }),
  }
}

const list: readonly Listed[] = [
  ...Object.entries(said).map(([address, description]) => listed(address, { description })),
  ...odd.map(([address, status]) => listed(address, { description: 'a server', ...status })),
  { address: 'offline.example', state: 'offline' },
  { address: 'asking.example', state: 'unknown' },
]

describe.skipIf(!hasBrowser())('in a browser', () => {
  let example: RunningExample
  let browser: Browser
  let page: Page
  const requests: string[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    example = await startExample('server-list')
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1000, height: 940 } })
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))
    page.on('dialog', (dialog) => {
      complaints.push('a dialog')
      void dialog.dismiss()
    })
    await page.route('**/servers', (route) => route.fulfill({ json: list }))
    await page.goto(example.url)
    await page
      .locator('.server')
      .nth(list.length - 1)
      .waitFor()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    expect(await example?.stop()).toBe(0)
  })

  // Open `descriptions.html` in a browser to see what is expected.
  test('whatever servers say is drawn as before', async () => {
    const screenshots = process.env['SCREENSHOTS']
    if (screenshots !== undefined)
      await page.screenshot({ path: `${screenshots}/descriptions.png`, fullPage: true })
    const drawn = await page.locator('#servers').evaluate((element) => element.outerHTML)
    // Lines break inside tags, where that changes nothing.
    const html = drawn.replaceAll(/\n +</g, '<').replaceAll(/<(li|h2|p|span)(?=[ >])/g, '<$1\n')
    const head = '<!doctype html><meta charset="utf-8" /><link rel="stylesheet" href="page.css" />'
    await expect(`${head}\n${html}\n`).toMatchFileSnapshot('descriptions.html')
  })

  test('nothing of it is run or fetched', () => {
    const paths = ['/', '/page.css', '/page.js', '/description.js', '/servers']
    const own = new Set(['data:,', ...paths.map((path) => example.url + path)])
    expect(requests.filter((url) => !own.has(url))).toEqual([])
    expect(complaints).toEqual([])
  })

  test.for([390, 1000])('a page %i pixels wide does not scroll sideways', async (width) => {
    await page.setViewportSize({ width, height: 900 })
    const screenshots = process.env['SCREENSHOTS']
    if (screenshots !== undefined)
      await page.screenshot({ path: `${screenshots}/descriptions-${width}.png`, fullPage: true })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
  })
})
