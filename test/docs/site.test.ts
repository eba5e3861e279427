import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, launchBrowser } from './browser.ts'

// The site of guide, decisions and reference, as `npm run docs` builds it.

const root = join(import.meta.dirname, '../..')
const site = mkdtempSync(join(tmpdir(), 'utility-api-site-'))
const model = join(site, 'model.json')

beforeAll(() => {
  const args = ['node_modules/typedoc/bin/typedoc', '--out', site, '--json', model]
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
    // Places in the sources are hidden by the style sheet.
    [...(text.get(page) ?? '').matchAll(/<a [^>]*href="(?!https?:|mailto:|#(?:src|adapters)\/)([^"]*)"/g)]
      .map(([, href = '']) => href)
      .filter((href) => !leadsSomewhere(page, href))
      .map((href) => `${page}: ${href}`),
  )
  expect([...new Set(broken)]).toEqual([])

  function leadsSomewhere(from: string, href: string): boolean {
    const [path = '', anchor] = href.split('#')
    const target = path === '' ? from : join(dirname(from), path)
    if (!text.has(target)) return existsSync(join(site, target))
    return anchor === undefined || anchor === '' || (text.get(target) ?? '').includes(`id="${anchor}"`)
  }
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

describe.skipIf(!hasBrowser())('in a browser, from files alone', () => {
  test('it searches and needs nothing from elsewhere', async () => {
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage()
      const elsewhere: string[] = []
      page.on('request', (request) => {
        if (!/^(?:file|data):/.test(request.url())) elsewhere.push(request.url())
      })
      await page.goto(pathToFileURL(join(site, 'documents/Guide.Start.html')).href)
      expect(await page.locator('h1').first().innerText()).toBe('Start')
      await page.locator('#tsd-search-trigger').click()
      await page.locator('#tsd-search-input').pressSequentially('issueAuth')
      const results = page.locator('#tsd-search-results')
      await expect.poll(() => results.innerText()).toContain('Admin.issueAuthorizationCode')
      await results.locator('a').first().click()
      await page.waitForURL(/Admin\.html/)
      expect(elsewhere).toEqual([])
    } finally {
      await browser.close()
    }
  }, 60_000)
})
