import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { parseStatus, type TextSpan } from 'utility-api/blockgame'
import { hasBrowser, launchBrowser } from '../../test/docs/browser.ts'
import { startExample, type RunningExample } from '../../test/package/start-example.ts'

test.skipIf(!hasBrowser())(
  'an address that cannot be asked is shown as such, and the page waits',
  async () => {
    const example = await startExample('server-list', { SERVERS: '127.0.0.1' })
    const browser = await launchBrowser()
    onTestFinished(async () => {
      await browser.close()
      expect(await example.stop()).toBe(0)
    })
    const page = await browser.newPage()
    await page.clock.install()
    let polls = 0
    page.on('request', (request) => {
      polls += Number(request.url().endsWith('/servers'))
    })
    await page.goto(example.url)
    const description = page.locator('[data-state=refused] .description')
    await expect.poll(() => description.count(), { timeout: 15_000 }).toBe(1)
    expect(await description.innerText()).toBe('This address cannot be asked')
    const before = polls
    await page.clock.runFor(14_000)
    expect(polls).toBe(before)
  },
  60_000,
)

describe.skipIf(!hasBrowser())('in a browser', () => {
  let example: RunningExample
  let browser: Browser
  let page: Page
  const elsewhere: string[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    example = await startExample('server-list')
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1000, height: 940 } })
    page.on('request', (request) => {
      if (!request.url().startsWith(example.url) && !request.url().startsWith('data:'))
        elsewhere.push(request.url())
    })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('dialog', (dialog) => {
      complaints.push('a dialog')
      void dialog.dismiss()
    })
    await page.goto(example.url)
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    expect(await example?.stop()).toBe(0)
  })

  test('twenty servers are shown, with icons, colors, players and pings', async () => {
    await expect.poll(() => page.locator('[data-state=online]').count(), { timeout: 15_000 }).toBe(19)
    await expect.poll(() => page.locator('[data-state=offline]').count(), { timeout: 15_000 }).toBe(1)
    const rows = page.locator('.server')
    expect(await rows.count()).toBe(20)
    expect(await rows.locator('img:visible').count()).toBe(14)
    expect(await rows.nth(0).locator('.description').innerText()).toBe(
      'Amber Hollow » Survival\nSeason 4 has begun',
    )
    expect(await rows.nth(0).locator('.players').innerText()).toBe('0 / 100')
    expect(await rows.nth(0).locator('.ping').innerText()).toMatch(/^\d+ ms$/)
    expect(await rows.nth(18).locator('h2').innerText()).toContain('1.5.2')
    const color = (row: number, span: number): Promise<string> =>
      rows
        .nth(row)
        .locator('.description span')
        .nth(span)
        .evaluate((each) => getComputedStyle(each).color)
    expect(await Promise.all([color(0, 0), color(1, 0), color(4, 0)])).toEqual([
      'rgb(255, 170, 0)',
      'rgb(255, 159, 67)',
      'rgb(84, 214, 44)',
    ])
    const icons = rows.locator('img:visible')
    const widths = await icons.evaluateAll((all) =>
      all.map((each) => (each as HTMLImageElement).naturalWidth),
    )
    expect(new Set(widths)).toEqual(new Set([64]))
    const screenshots = process.env['SCREENSHOTS']
    if (screenshots !== undefined)
      await page.screenshot({ path: `${screenshots}/server-list.png`, fullPage: true })
    expect([elsewhere, complaints]).toEqual([[], []])
  }, 60_000)

  test('no description of a thousand makes markup or a request', async () => {
    const markup = fc.constantFrom(
      '<img src=https://evil.example/x onerror=alert(1)>',
      '<script>alert(1)</script>',
      '"><iframe src=//evil.example>',
      '</span><style>@import url(//evil.example)</style>',
      '&lt;b&gt;',
      'javascript:alert(1)',
    )
    const text = fc.oneof(
      markup,
      fc.string({ unit: 'binary' }),
      fc.constantFrom('§6', '§x§f§f§0§0§0§0', '%s', '\n'),
    )
    const part = fc.record(
      {
        text,
        translate: text,
        with: fc.array(text),
        color: fc.oneof(
          text,
          fc.constantFrom('gold', '#123456', 'url(//evil.example/c)', 'red;background:url(//evil.example)'),
        ),
        bold: fc.boolean(),
        extra: fc.array(fc.oneof(text, fc.record({ text, color: text }))),
      },
      { requiredKeys: [] },
    )
    const descriptions = fc.sample(fc.oneof(text, part, fc.array(part)), 1000)
    const spans = descriptions.map(
      (description) => parseStatus(JSON.stringify({ players: {}, description })).descriptionSpans ?? [],
    )
    const module = await page.evaluateHandle<{ drawDescription(spans: readonly TextSpan[]): HTMLElement[] }>(
      'import("/description.js")',
    )
    const wrong = await module.evaluate(({ drawDescription }, all: readonly (readonly TextSpan[])[]) => {
      const place = document.body.appendChild(document.createElement('div'))
      return all.filter((each) => {
        place.replaceChildren(...drawDescription(each))
        const elements = [...place.querySelectorAll('*')]
        const isPlain = elements.every(
          ({ tagName, attributes }) =>
            tagName === 'SPAN' && [...attributes].every(({ name }) => name === 'class' || name === 'style'),
        )
        const hasText = place.textContent === each.map((span) => span.text).join('')
        return (
          !isPlain ||
          !hasText ||
          /url|:.*:/.test(
            elements
              .map((element) => element.getAttribute('style'))
              .join(';')
              .replaceAll(/color: rgb\([\d, ]+\);/g, ''),
          )
        )
      })
    }, spans)
    expect(wrong).toEqual([])
    expect([elsewhere, complaints]).toEqual([[], []])
  }, 60_000)
})
