import { expect, test } from 'vitest'
import { hasBrowser, launchBrowser } from '../../test/docs/browser.ts'
import { startExample } from '../../test/package/start-example.ts'

test.skipIf(!hasBrowser())(
  'a reader authorizes, tries an operation, and sees its answer',
  async () => {
    const example = await startExample('reference-page')
    await expect.poll(example.output).toContain('authorize with')
    const token = /authorize with: (\S+)/.exec(example.output())?.[1] ?? ''
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 1400 } })
      const elsewhere: string[] = []
      const complaints: string[] = []
      page.on('request', (request) => {
        if (!request.url().startsWith(example.url) && !request.url().startsWith('data:'))
          elsewhere.push(request.url())
      })
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text())
      })

      await page.goto(example.url)
      await page.getByRole('button', { name: 'Authorize' }).first().click()
      const form = page.locator('.auth-container', { hasText: 'reseller_token' })
      await form.locator('input').fill(token)
      await form.getByRole('button', { name: 'Apply credentials' }).click()
      await page.getByRole('button', { name: 'Close' }).first().click()

      const operation = page.locator('#operations-Licenses-generateLicense')
      await operation.locator('.opblock-summary-control').click()
      await operation.getByRole('button', { name: 'Try it out' }).click()
      await operation.getByRole('button', { name: 'Execute' }).click()
      const answer = operation.locator('.live-responses-table')
      await answer.waitFor()
      const screenshot = process.env['SCREENSHOTS']
      if (screenshot !== undefined)
        await page.screenshot({ path: `${screenshot}/reference-page.png`, fullPage: true })

      expect(await answer.locator('.response-col_status').last().innerText()).toBe('200')
      expect(await answer.innerText()).toContain('"registered_to": "Ada Lovelace"')
      expect(elsewhere).toEqual([])
      expect(complaints).toEqual([])
    } finally {
      await browser.close()
    }
    expect(await example.stop()).toBe(0)
  },
  60_000,
)
