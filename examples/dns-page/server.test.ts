import type { DnsRecord } from 'utility-api'
import { fakeDnsServer, type FakeDnsServer } from 'utility-api/testing'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasBrowser, launchBrowser } from '../../test/docs/browser.ts'
import { startExample, type RunningExample } from '../../test/package/start-example.ts'

const old: DnsRecord = { type: 'A', host: 'shop.example', ttl: 3000, ip: '198.51.100.7' }
const moved: DnsRecord = { type: 'A', host: 'shop.example', ttl: 300, ip: '203.0.113.20' }
const markup = '<img src=https://evil.example/x onerror=alert(1)>'
const hostile: DnsRecord = {
  type: 'TXT',
  host: 'shop.example',
  ttl: 60,
  txt: markup + 'x'.repeat(200),
  entries: [markup, 'x'.repeat(200)],
}

/** For a busy machine. */
const patience = { timeout: 15_000 }

test('resolvers may have IPv6 addresses', async () => {
  const resolver = await fakeDnsServer({ records: [moved], ip: '::1' })
  const example = await startExample('dns-page', { RESOLVERS: `[::1]:${resolver.port},::1` })
  try {
    const answer = await fetch(`${example.url}/check?name=shop.example&type=A`)
    expect(await answer.text()).toContain('203.0.113.20')
  } finally {
    expect(await example.stop()).toBe(0)
    await resolver.close()
  }
})

describe.skipIf(!hasBrowser())('in a browser', () => {
  const resolvers: FakeDnsServer[] = []
  /** How many resolvers have the new address. */
  let learned = 0
  /** Holds back the answers of the last resolver. */
  let held: Promise<void> | undefined
  let example: RunningExample
  let browser: Browser
  let page: Page
  const elsewhere: string[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    for (const place of [0, 1, 2]) {
      const server = await fakeDnsServer({
        records: [moved, hostile],
        async reply(query) {
          if (place === 2) await held
          return query.type === 'A' ? query.answer({ records: [learned > place ? moved : old] }) : undefined
        },
      })
      resolvers.push(server)
    }
    const closed = await fakeDnsServer()
    await closed.close()
    const addresses = [...resolvers, closed].map(({ ip, port }) => `${ip}:${port}`)
    example = await startExample('dns-page', { RESOLVERS: addresses.join() })
    browser = await launchBrowser()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await Promise.all(resolvers.map((resolver) => resolver.close()))
    expect(await example?.stop()).toBe(0)
  })

  async function open(
    width: number,
    url = example.url,
    options: BrowserContextOptions = {},
    hasOwnClock = false,
  ): Promise<void> {
    page = await browser.newPage({ viewport: { width, height: 800 }, ...options })
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:')) elsewhere.push(request.url())
    })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('dialog', (dialog) => {
      complaints.push('a dialog')
      void dialog.dismiss()
    })
    if (hasOwnClock) await page.clock.install()
    await page.goto(url)
    await page.locator('html[data-ready]').waitFor()
  }
  beforeEach(() => {
    learned = 0
    held = undefined
  })
  afterEach(async () => {
    await page.close()
    expect([elsewhere.splice(0), complaints.splice(0)]).toEqual([[], []])
  })

  const tones = (): Promise<(string | undefined)[]> =>
    page.locator('tbody tr').evaluateAll((all) => all.map((row) => (row as HTMLElement).dataset['tone']))
  const verdict = (): Promise<string> => page.locator('#verdict').innerText()
  const submit = (): Promise<void> => page.locator('button').click()

  test('rows fill in as resolvers answer, and the verdict comes with the last', async () => {
    await open(1280)
    learned = 1
    let release = (): void => {}
    held = new Promise((resolve) => (release = resolve))
    await page.locator('[name=expect]').fill('203.0.113.20')
    await submit()
    await expect.poll(tones, patience).toEqual(['good', 'waiting', 'asking', 'bad'])
    expect(await page.locator('.answer').allInnerTexts()).toEqual([
      '203.0.113.20',
      '198.51.100.7',
      'asking',
      'not reachable',
    ])
    expect(await verdict()).toBe('Asking …')
    release()
    await expect.poll(verdict, patience).toBe('Partly: 1 of 3 has what is expected.')
    expect(await tones()).toEqual(['good', 'waiting', 'waiting', 'bad'])
  })

  test('counts down to the end of the longest-lived old answer, and waits for it though all have the new one', async () => {
    await open(1280, example.url, {}, true)
    await page.locator('[name=expect]').fill('203.0.113.20')
    await submit()
    await expect.poll(verdict, patience).toBe('Not yet: none of 3 has what is expected.')
    const countdown = page.locator('#countdown')
    const left = async (): Promise<number> => {
      const [, minutes = '', seconds = ''] = /in (\d+):(\d\d),/.exec(await countdown.innerText()) ?? []
      return Number(minutes) * 60 + Number(seconds)
    }
    const first = await left()
    expect(first).toBeGreaterThan(2900)
    expect(first).toBeLessThanOrEqual(3000)
    await page.clock.runFor(5000)
    expect(first - (await left())).toBeGreaterThanOrEqual(4)
    learned = 3
    await page.clock.runFor(6000)
    // There may be more caches behind their addresses.
    await expect
      .poll(verdict, patience)
      .toMatch(/^Partly: 3 of 3 have what is expected\. Waiting for [^,]*,[^,]*,[^,]*\.$/)
    expect(await left()).toBeGreaterThan(2900)
    expect(await page.locator('#next').innerText()).not.toBe('')
  })

  test('asks no more once all have it', async () => {
    await open(1280)
    learned = 3
    await page.locator('[name=expect]').fill('203.0.113.20')
    await submit()
    await expect.poll(verdict, patience).toBe('Arrived: 3 of 4 have what is expected.')
    expect(await page.locator('#countdown').innerText()).toBe('')
    expect(await page.locator('#next').innerText()).toBe('')
  })

  test('compares the answers with each other if nothing is expected', async () => {
    await open(1280)
    learned = 1
    await submit()
    await expect.poll(verdict, patience).toBe('They differ: 2 different answers.')
  })

  test('agreeing that there is no such record is no success', async () => {
    await open(1280)
    await page.locator('[name=type]').selectOption('MX')
    await submit()
    await expect.poll(verdict, patience).toBe('3 of 4 answered, and all say that there is no such record.')
    expect(await tones()).toEqual(['bad', 'bad', 'bad', 'bad'])
    expect(await page.locator('#outcome').getAttribute('data-tone')).toBe('bad')
  })

  test('a deletion is expected as none', async () => {
    await open(1280)
    await page.locator('[name=expect]').fill('none')
    await page.locator('[name=type]').selectOption('MX')
    await submit()
    await expect.poll(verdict, patience).toBe('Arrived: 3 of 4 have what is expected.')
  })

  test.each([
    ['203.0.113', 'A', 'shop.example', /is no A record such as/],
    ['', 'A', 'a..b', /domain name/],
  ])('%j %s %s is refused in words', async (expected, type, name, message) => {
    await open(1280)
    await page.locator('[name=name]').fill(name)
    await page.locator('[name=type]').selectOption(type)
    await page.locator('[name=expect]').fill(expected)
    const before = resolvers.map(({ queries }) => queries.length)
    await submit()
    await expect.poll(verdict, patience).toMatch(message)
    expect(await page.locator('.answer').allInnerTexts()).toEqual(['', '', '', ''])
    expect(resolvers.map(({ queries }) => queries.length)).toEqual(before)
    // The browser reports every 400 in its console.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400')])
  })

  test.each([390, 1280])('shows markup as text, and nothing wider than %i px', async (width) => {
    await open(width)
    await page.locator('[name=type]').selectOption('TXT')
    await submit()
    await expect.poll(verdict, patience).toBe('3 of 4 answered, and all say the same.')
    expect(await page.locator('.answer').first().innerText()).toContain(markup)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
  })

  test.each([
    [390, 'light'],
    [390, 'dark'],
    [1280, 'light'],
    [1280, 'dark'],
  ] as const)('its own world at %i px, %s', async (width, colorScheme) => {
    const own = await startExample('dns-page')
    try {
      await open(width, own.url, { colorScheme })
      await page.locator('[name=expect]').fill('203.0.113.20')
      await submit()
      await expect.poll(verdict, patience).toMatch(/^Partly: \d of 9 ha(s|ve) what is expected\.$/)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      expect(await page.locator('#countdown').innerText()).toMatch(
        /^At the latest at \d\d:\d\d:\d\d, in \d:\d\d,/,
      )
      const screenshots = process.env['SCREENSHOTS']
      if (screenshots !== undefined)
        await page.screenshot({ path: `${screenshots}/dns-page-${width}-${colorScheme}.png`, fullPage: true })
    } finally {
      expect(await own.stop()).toBe(0)
    }
  })
})
