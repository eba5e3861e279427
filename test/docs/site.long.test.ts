import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import axe from 'axe-core'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, launchBrowser } from './browser.ts'

// The site of guide, decisions and reference, as `npm run docs` builds it.

const root = join(import.meta.dirname, '../..')
const site = mkdtempSync(join(tmpdir(), 'utility-api-site-'))
const model = join(site, 'model.json')

beforeAll(() => {
  const links = ['--sourceLinkTemplate', 'https://git.example/blob/v1/{path}#L{line}']
  const args = ['node_modules/typedoc/bin/typedoc', '--out', site, '--json', model, ...links]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect(`${stdout}${stderr}`.match(/\[(?:warning|error)\].*/g) ?? []).toEqual([])
  expect(status).toBe(0)
}, 120_000)

afterAll(() => rmSync(site, { recursive: true, force: true }))

test('every link inside it leads to a page, and every anchor to a place', () => {
  const pages = globSync('**/*.html', { cwd: site })
  expect(pages.length).toBeGreaterThan(100)
  const text = new Map(pages.map((page) => [page, readFileSync(join(site, page), 'utf8')]))
  const broken = pages.flatMap((page) =>
    [...(text.get(page) ?? '').matchAll(/<a [^>]*href="(?!https?:|mailto:)([^"]*)"/g)]
      .map(([, href = '']) => href)
      .filter((href) => !leadsSomewhere(page, href))
      .map((href) => `${page}: ${href}`),
  )
  expect([...new Set(broken)]).toEqual([])

  function leadsSomewhere(from: string, href: string): boolean {
    const [path = '', anchor] = href.split('#')
    const target = path === '' ? from : join(dirname(from), path)
    if (!text.has(target)) return false
    return anchor === undefined || anchor === '' || (text.get(target) ?? '').includes(`id="${anchor}"`)
  }
})

test('a link to an example leads to its page, and a link to its program to where that stands', () => {
  const page = readFileSync(join(site, 'documents/Licenses.html'), 'utf8')
  expect(page).toContain('<a href="Examples.A_license_check.html">the license check example</a>')
  expect(page).toContain('<a href="Examples.A_license_check.html#panelphp">')
  const example = readFileSync(join(site, 'documents/Examples.A_license_check.html'), 'utf8')
  expect(example).toContain('<a href="#checkphp"')
  expect(example).toContain('GRACE_SECONDS')
  expect(example).not.toContain('href="http://check.py')
})

test('a cell says which column it is in, also where numbers stand on the right', () => {
  const page = readFileSync(join(site, 'documents/Benchmarks.html'), 'utf8')
  expect(page).toContain('<td style="text-align:right" data-label="Lowest">')
})

test('a page says in its head what it is about', () => {
  const pages = globSync('{index.html,*/*.html}', { cwd: site })
  const textOf = (page: string): string => readFileSync(join(site, page), 'utf8')
  expect(pages.filter((page) => textOf(page).includes('content="Documentation for'))).toEqual([])
  expect(textOf('documents/Start.html')).toContain(
    '<meta name="description" content="Go from an empty folder ',
  )
})

test('a type that has a name is shown by its name, with a link', () => {
  const page = readFileSync(join(site, 'interfaces/utility-api.DnsQuestion.html'), 'utf8')
  expect(page).toContain('<a href="../types/utility-api.RecordType.html"')
  expect(page).not.toContain('DNSKEY')
})

test('a name in the list of contents is not broken', () => {
  const page = readFileSync(join(site, 'documents/Benchmark_runs.html'), 'utf8')
  expect(page).toContain('<span>Many licenses, SQLite</span>')
})

interface Reflection {
  readonly name: string
  readonly kind: number
  readonly comment?: unknown
  readonly inheritedFrom?: unknown
  readonly children?: readonly Reflection[]
}

const interfaceOrClass = 256 | 128
const property = 1024

test('every property of an interface or a class has a sentence', () => {
  // typedoc's own check would also ask for the members of literal types, such as { online, max }.
  const bare: string[] = []
  const visit = (reflection: Reflection, path: string): void => {
    for (const child of reflection.children ?? []) {
      const own = `${path}.${child.name}`
      const isMember = (reflection.kind & interfaceOrClass) !== 0 && child.kind === property
      const spoken = child.comment !== undefined || child.inheritedFrom !== undefined || child.name === 'name'
      if (isMember && !spoken) bare.push(own)
      visit(child, own)
    }
  }
  visit(JSON.parse(readFileSync(model, 'utf8')) as Reflection, '')
  expect(bare).toEqual([])
})

test('every name in the list of a module has a sentence, and createUtilityApi its options', () => {
  const lists = globSync('modules/*.html', { cwd: site }).map((page) =>
    readFileSync(join(site, page), 'utf8'),
  )
  const sentences = [...lists.join('').matchAll(/<dd class="tsd-member-summary[^"]*">([^]*?)<\/dd>/g)]
  expect(sentences.length).toBeGreaterThan(200)
  expect(sentences.filter(([, sentence]) => !/<p>[^<]/.test(sentence ?? ''))).toEqual([])
  const page = readFileSync(join(site, 'functions/utility-api.createUtilityApi.html'), 'utf8')
  for (const option of ['storage', 'dns', 'onRequestEnd']) expect(page).toContain(`>${option}</span>`)
})

test('every page says where it can be changed, and which version it is about', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const edited = globSync('documents/*.html', { cwd: site }).map((page) => {
    const html = readFileSync(join(site, page), 'utf8')
    expect(html).toContain(`utility-api - v${version}</a>`)
    return /<a href="https:\/\/git\.example\/edit\/main\/([^"]*\.md)">Edit this page/.exec(html)?.[1] ?? page
  })
  expect(edited.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('the reference begins with what a program calls first', () => {
  const [main] = (JSON.parse(readFileSync(model, 'utf8')) as { children: readonly Module[] }).children
  const first = main?.children.find(({ id }) => id === main.groups[0]?.children[0])
  expect([main?.name, first?.name]).toEqual(['utility-api', 'createUtilityApi'])
})

interface Module {
  readonly name: string
  readonly groups: readonly { readonly children: readonly number[] }[]
  readonly children: readonly { readonly id: number; readonly name: string }[]
}

test('every page leads to the next one and to the one before', () => {
  const documents = globSync('documents/*.html', { cwd: site })
  const [prev, next] = ['prev', 'next'].map((rel) =>
    documents.flatMap((page) => {
      const html = readFileSync(join(site, page), 'utf8')
      const [, href] =
        new RegExp(`<nav class="page-neighbors"[^]*<a href="([^"]*)" rel="${rel}"`).exec(html) ?? []
      return href === undefined ? [] : [href]
    }),
  )
  expect(new Set(prev).size).toBe(documents.length - 1)
  expect(new Set(next).size).toBe(documents.length - 1)
})

/** For a busy machine. */
const patience = { timeout: 15_000 }

/** What a reader types, and where they want to be. */
const searches = [
  ['fastify', 'Mount on your server'],
  ['PKCE', 'Credentials and authorization'],
  ['oauth', 'Credentials and authorization'],
  ['429', 'Errors'],
  ['oauth2', 'Credentials and authorization'],
  ['curl', 'Start'],
  ['idempotency', 'Licenses'],
  ['purge', 'Storage'],
  ['SRV', 'Minecraft servers'],
  ['offline', 'Minecraft servers'],
  ['patroni', 'Scale out'],
  ['nginx', 'Deployment'],
  ['DNSSEC', 'DNS check'],
  ['backup', 'Storage schema'],
  ['nextjs', 'Mount on your server'],
  ['CORS', 'Mount on your server'],
  ['webhook', 'Licenses'],
  ['license key', 'Licenses'],
  ['bedrock', 'Minecraft servers'],
  ['minecraft', 'Minecraft servers'],
  ['propagation', 'DNS check'],
  ['docker', 'Deployment'],
  ['systemd', 'Deployment'],
  ['pgbouncer', 'Poolers, proxies and clusters'],
  ['metrics', 'Logs, metrics and traces'],
  ['rate limit', 'Limits and proxies'],
  ['getLicense', 'utility-api.Admin.getLicense'],
  ['minecraft-server-util', 'From minecraft-server-util'],
  ['dns2', 'From dns2 or node:dns'],
  ['oauth2-server', 'From oauth2-server'],
  ['whmcs', 'From a WHMCS licensing addon'],
] as const

/** What people type who do not know our words, and a page that must be among the first three. */
const wordsOf: Readonly<Record<string, string>> = {
  'Credentials and authorization': 'client secret, pkce, public client, refresh token, localhost',
  'Verify tokens': 'mcp',
  Licenses: 'stripe, paddle, webhook, refund, renew, expire, trial, seat, staging, www',
  'Mount on your server': 'next, nuxt, lambda',
  Deployment: 'docker, nginx, systemd, uptime',
  'DNS check': 'cron, slack, txt, verification, dkim, dnssec, doh, port 53, ipv6',
  'Minecraft servers': 'srv, velocity, bedrock, motd',
  'Beside your own migrations': 'prisma, drizzle',
  'Poolers, proxies and clusters': 'supabase',
  'Storage schema': 'backup',
}

/** A page of each kind. */
const kinds = [
  'index.html',
  'documents/Verify_tokens.html',
  'documents/Check_DNS.html',
  'modules/utility-api_node.html',
  'functions/utility-api.createUtilityApi.html',
  'interfaces/utility-api.Verifier.html',
]

/** Links in the folds of its navigation, and its headings, which leave levels out. */
const typedocs =
  "{ rules: { 'nested-interactive': { enabled: false }, 'heading-order': { enabled: false } } }"

describe.skipIf(!hasBrowser())('in a browser, from files alone', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })

  afterAll(() => browser.close())

  function urlOf(page: string): string {
    return pathToFileURL(join(site, page)).href
  }

  test('a search finds its page first, and needs nothing from elsewhere', async () => {
    const page = await browser.newPage()
    const elsewhere: string[] = []
    page.on('request', (request) => {
      if (!/^(?:file|data):/.test(request.url())) elsewhere.push(request.url())
    })
    await page.goto(urlOf('documents/Start.html'))
    await page.locator('#tsd-search-trigger').click()
    const results = page.locator('#tsd-search-results')
    for (const [words, first] of searches) {
      // Those of the words before would be looked at until the new ones are there.
      await results.evaluate((list) => list.replaceChildren())
      await page.locator('#tsd-search-input').fill(words)
      await expect
        .poll(() => results.locator('a').first().innerText(), { message: words, ...patience })
        .toBe(first)
    }
    await page.locator('#tsd-search-input').fill('kubectl')
    await expect.poll(() => page.locator('#tsd-search-status').innerText()).toContain('nothing was found for')
    expect(await results.locator('a').count()).toBe(0)

    await page.locator('#tsd-search-input').fill('PKCE')
    await results.locator('a', { hasText: 'Credentials and authorization' }).click()
    await page.waitForURL(/Credentials_and_authorization/)
    expect(await page.locator('svg.sequence').count()).toBe(1)
    expect(elsewhere).toEqual([])
  }, 60_000)

  test('the words that people type find the page of their job', async () => {
    const page = await browser.newPage()
    await page.goto(urlOf('documents/Start.html'))
    await page.locator('#tsd-search-trigger').click()
    const results = page.locator('#tsd-search-results')
    const misses: string[] = []
    for (const [wanted, list] of Object.entries(wordsOf))
      for (const words of list.split(', ')) {
        await results.evaluate((element) => element.replaceChildren())
        await page.locator('#tsd-search-input').fill(words)
        const found = async (): Promise<boolean> =>
          (await results.locator('a').count()) > 0 ||
          (await page.locator('#tsd-search-status').innerText()).includes('nothing was found')
        await expect.poll(found, { message: words, ...patience }).toBe(true)
        const first = (await results.locator('a').allInnerTexts()).slice(0, 3)
        if (!first.includes(wanted)) misses.push(`${words}: ${first.join(', ')} instead of ${wanted}`)
      }
    expect(misses).toEqual([])
  }, 60_000)

  test('tabs need no script: each shows its own code, and keys reach it', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(urlOf('documents/Check_DNS.html'))
    const code = page.locator('.tabs pre:visible')
    expect(await code.allInnerTexts()).toEqual([expect.stringMatching(/^curl /)])
    await page.locator('.tabs input').first().focus()
    for (const own of [/^const response/, /api\.checkDns/, /^<\?php/, /^import json/]) {
      await page.keyboard.press('ArrowRight')
      expect(await code.allInnerTexts()).toEqual([expect.stringMatching(own)])
    }
    await context.close()
  })

  test.each([
    [1440, 'light'],
    [390, 'dark'],
  ] as const)(
    "at %i px, %s: axe finds only what is typedoc's own",
    async (width, colorScheme) => {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
      for (const path of kinds) {
        await page.goto(urlOf(path))
        // typedoc shows nothing until its script has run, or half a second later.
        await page.locator('h1').first().waitFor()
        const { violations } = (await page.evaluate(`${axe.source}; axe.run(${typedocs})`)) as axe.AxeResults
        expect(violations.map(({ id, nodes }) => [path, id, nodes.map(({ html }) => html)])).toEqual([])
      }
    },
    180_000,
  )

  test('no page is wider than a phone', async () => {
    const pages = globSync('**/*.html', { cwd: site })
    const wide: string[] = []
    // Scripts have no part in the layout, and take most of the time.
    const context = await browser.newContext({
      viewport: { width: 390, height: 844 },
      javaScriptEnabled: false,
    })
    const look = async (): Promise<void> => {
      const page = await context.newPage()
      for (let next = pages.pop(); next !== undefined; next = pages.pop()) {
        await page.goto(urlOf(next), { waitUntil: 'load' })
        if (await page.evaluate(isTooWide)) wide.push(next)
      }
    }
    await Promise.all([look(), look(), look(), look()])
    expect(wide).toEqual([])
  }, 180_000)
})

/** Runs in the page. */
function isTooWide(): boolean {
  const { scrollWidth, clientWidth } = document.documentElement
  return scrollWidth > clientWidth
}
