import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import axe from 'axe-core'
import type { Browser, Locator, Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { devPages } from '../../../adapters/cli/serving/dev-pages.ts'
import { createDevWorld, type DevWorld } from '../../../adapters/cli/serving/dev-world.ts'
import { createService, type Service } from '../../../adapters/cli/serving/http-service.ts'
import { hasBrowser, launchBrowser } from '../../docs/browser.ts'

/** For a busy machine. */
const patience = { timeout: 15_000 }

/** What each operation answers with, and how its wrong request is refused. */
const operations = [
  {
    id: 'exchange',
    answer: /"?access_token"?: ?["']/,
    status: 401,
    sentence: 'Client authentication failed.',
    code: 'invalid_client',
    wrong: 'client_secret was “wrong”',
  },
  {
    id: 'generate',
    answer: /License generated\./,
    status: 400,
    sentence: 'The header X-Status is missing.',
    code: 'invalid_request',
    wrong: 'X-Status was left out',
  },
  {
    id: 'update',
    answer: /License updated\./,
    status: 404,
    sentence: 'license',
    code: 'license_not_found',
    wrong: 'license_key was “LIC-00000-',
  },
  {
    id: 'dns',
    answer: /Singapore, SG/,
    status: 400,
    sentence: 'X-Record-Type must be one of A, ',
    code: 'invalid_request',
    wrong: 'X-Record-Type was “ALIAS”',
  },
  {
    id: 'lookup',
    answer: /1\.21\.4/,
    status: 401,
    sentence: 'API key',
    code: 'invalid_api_key',
    wrong: 'Basic was “wrong”',
  },
] as const

describe.skipIf(!hasBrowser())('the page of dev in a browser', () => {
  let world: DevWorld
  let service: Service
  let url: string
  let browser: Browser
  let page: Page
  const elsewhere: string[] = []
  const complaints: string[] = []

  beforeAll(async () => {
    world = await createDevWorld({})
    const options = { prefix: '', trustProxy: 0, openapi: true, pages: devPages(world) }
    service = createService(world.api, options)
    await once(service.server.listen(0, '127.0.0.1'), 'listening')
    url = `http://127.0.0.1:${(service.server.address() as AddressInfo).port}/`
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser.close()
    service.server.closeAllConnections()
    service.server.close()
    await world[Symbol.asyncDispose]()
  })

  async function open(width = 1280, colorScheme: 'light' | 'dark' = 'light'): Promise<void> {
    page = await browser.newPage({ viewport: { width, height: 844 }, colorScheme, reducedMotion: 'reduce' })
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:')) elsewhere.push(request.url())
    })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(url)
    await page.locator('html[data-ready]').waitFor()
  }
  afterEach(async () => {
    await page.close()
    expect([elsewhere.splice(0), complaints.splice(0)]).toEqual([[], []])
  })

  const within = (id: string, selector: string): Locator => page.locator(`#${id} ${selector}`)
  const textOf = (id: string, selector: string): Promise<string> => within(id, selector).innerText()
  const rowsOf = (): Promise<string[]> => within('dns', 'tbody tr').allInnerTexts()

  async function send(id: string, status: RegExp, button = '.send'): Promise<void> {
    await within(id, button).click()
    await expect.poll(() => textOf(id, '.status'), patience).toMatch(status)
  }

  /** What the browser reports of each answer that is an error; the page itself reports nothing. */
  function expectOnly(...statuses: number[]): void {
    expect(complaints.splice(0)).toEqual(
      statuses.map((status) => expect.stringContaining(`the server responded with a status of ${status}`)),
    )
  }

  test('each operation answers 200 with what is filled in, and what it makes goes into the next form', async () => {
    await open()
    const code = await within('exchange', '[name=code]').inputValue()
    await send('exchange', /^200 OK in \d+ ms$/)
    const { access_token: token } = JSON.parse(await textOf('exchange', '.body')) as { access_token: string }
    expect(await within('dns', '[name=Authorization]').inputValue()).toBe(token)
    await expect.poll(() => within('exchange', '[name=code]').inputValue(), patience).not.toBe(code)
    expect(await textOf('exchange', '.request')).not.toContain(code)
    await send('exchange', /^200 OK/)

    await send('generate', /^200 OK/)
    const { data } = JSON.parse(await textOf('generate', '.body')) as { data: { license_key: string } }
    expect(await textOf('generate', 'dl')).toContain(data.license_key)
    expect(await within('update', '[name=license_key]').inputValue()).toBe(data.license_key)
    await within('update', '[name=X-Registered-To]').fill('Grace Hopper · 葛麗絲')
    await send('update', /^200 OK/)
    const license = await world.api.findLicense(data.license_key)
    expect(license).toMatchObject({ registeredTo: 'Grace Hopper · 葛麗絲', status: 'invalid' })

    await send('dns', /^200 OK/)
    expect(await within('update', '.json').getAttribute('open')).toBe('')
    expect(await within('dns', '.json').getAttribute('open')).toBe(null)
    expect(await textOf('dns', '.json')).toBe('JSON, 46 lines')
    expect(await textOf('dns', '.drawn')).toContain('They differ: 3 different answers. Within 300 s,')
    expect(await rowsOf()).toEqual([
      expect.stringMatching(/^Amsterdam, NL Loopback DNS\s+1\s*203\.0\.113\.20\s+300 s\s+\d+ ms$/),
      expect.stringMatching(/^Singapore, SG Loopback DNS\s+2\s*198\.51\.100\.7\s+41 s\s+\d+ ms$/),
      expect.stringMatching(/^Toronto, CA Loopback DNS\s+3\s*no such record\s+\d+ ms$/),
    ])
    await within('dns', 'select').selectOption('TXT')
    await send('dns', /^200 OK/)
    await expect
      .poll(() => textOf('dns', '.drawn strong'), patience)
      .toBe('3 of 3 answered, and all say the same.')
    expect((await rowsOf())[1]).toContain('"v=spf1 mx -all"')

    await send('lookup', /^200 OK/)
    const card = within('lookup', '.server')
    expect(await card.locator('.description span').first().innerText()).toBe('Amber Hollow')
    const color = card.locator('.description span').first()
    expect(await color.evaluate((span) => getComputedStyle(span).color)).toBe('rgb(255, 170, 0)')
    expect(await card.locator('img').evaluate((icon) => (icon as HTMLImageElement).naturalWidth)).toBe(64)
    expect(await card.locator('.numbers').innerText()).toMatch(/^12 \/ 100\s+players\s+\d+ms$/)
  })

  test('rows of a DNS check appear as resolvers answer', async () => {
    await open()
    const seen: string[][] = []
    await page.exposeFunction('see', (answers: string[]) => seen.push(answers))
    await page.evaluate(() => {
      const drawn = document.querySelector('#dns .drawn') as Element
      const see = (globalThis as unknown as { see(answers: string[]): void }).see
      new MutationObserver(() => {
        const cells = [...drawn.querySelectorAll('td:nth-child(2)')]
        see(cells.map((cell) => (cell.textContent === 'asking …' ? 'asking' : 'answered')))
      }).observe(drawn, { childList: true })
    })
    await send('dns', /^200 OK/)
    await expect.poll(() => seen.at(-1), patience).toEqual(['answered', 'answered', 'answered'])
    expect(seen[0]).toEqual(['asking', 'asking', 'asking'])
    // A busy machine may draw two answers at once.
    const counts = seen.map((answers) => answers.filter((answer) => answer === 'answered').length)
    expect(counts).toEqual(counts.toSorted((one, other) => one - other))
    expect(counts.some((count) => count === 1 || count === 2)).toBe(true)
  })

  test.each(operations)(
    '$id: what is wrong on purpose is said, and the form stays right',
    async (operation) => {
      const { id, status, sentence, code, wrong } = operation
      await open()
      const request = await textOf(id, '.request')
      await send(id, new RegExp(`^${status} `), '[data-wrong]')
      expect(await textOf(id, '.drawn')).toContain(sentence)
      expect(await textOf(id, '.drawn')).toContain(`Code: ${code}\n`)
      expect(await textOf(id, '.drawn')).toContain(wrong)
      expect(await textOf(id, '.request')).toBe(request)
      expect(await within(id, '[aria-invalid]').count()).toBe(0)
      await within(id, 'summary').last().click()
      expect(await textOf(id, '.wire')).toMatch(
        new RegExp(`HTTP/1\\.1[^]*\n\nHTTP/1\\.1 ${status} [^]*"${code}"`),
      )
      expect(await textOf(id, '.wire')).not.toContain(`${request}\n`)
      expect(await page.locator('#said').innerText()).toContain(`${status} `)
      await send(id, /^200 OK/)
      expectOnly(status)
    },
  )

  test('a field that is wrong is marked until it changes', async () => {
    await open()
    const field = within('lookup', '[name=X-Port]')
    await field.fill('70000')
    await send('lookup', /^400 /)
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    await field.fill('')
    expect(await field.getAttribute('aria-invalid')).toBe(null)
    await send('lookup', /^200 OK/)
    expectOnly(400)
  })

  test('a spent code is followed by a new one', async () => {
    await open()
    const form = within('exchange', 'form')
    const body = await form.evaluate((element) =>
      Object.fromEntries(new FormData(element as HTMLFormElement)),
    )
    const headers = { 'Content-Type': 'application/json' }
    const elsewhereSpent = await fetch(`${url}v4/oauth2/token`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    expect(elsewhereSpent.status).toBe(200)
    await send('exchange', /^400 /)
    await expect
      .poll(() => within('exchange', '[name=code]').inputValue(), patience)
      .not.toBe((body as { code: string }).code)
    await send('exchange', /^200 OK/)
    expectOnly(400)
  })

  test.each(['curl', 'TypeScript'])('each request as %s does what its form does', async (name) => {
    await open()
    await within('update', '[name=X-Registered-To]').fill("D'Arcy \\ 葛")
    // In one form; the others follow.
    await page.locator('#dns .notations label', { hasText: name }).click()
    for (const { id, answer } of operations) {
      const text = await textOf(id, '.request')
      const [file, ...args] =
        name === 'curl' ? ['sh', '-c', text] : [process.execPath, '--input-type=module', '-e', text]
      const { stdout } = await promisify(execFile)(file, args)
      expect([id, stdout]).toEqual([id, expect.stringMatching(answer)])
    }
    const license = await world.api.findLicense(world.credentials.licenseKey)
    expect(license).toMatchObject({ registeredTo: "D'Arcy \\ 葛", status: 'invalid' })
  })

  test('Copy puts the request into the clipboard, or selects it where there is none', async () => {
    await open()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const request = await textOf('dns', '.request')
    await within('dns', '.copy').click()
    await expect.poll(() => textOf('dns', '.copy'), patience).toBe('Copied')
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(request)
    await page.evaluate(() => Reflect.deleteProperty(Navigator.prototype, 'clipboard'))
    await within('lookup', '.copy').click()
    await expect.poll(() => textOf('lookup', '.copy'), patience).toBe('Selected')
    expect(await page.evaluate(() => String(getSelection()))).toBe(await textOf('lookup', '.request'))
  })

  test('an answer that cannot be drawn is shown as it came', async () => {
    await open()
    await page.route('**/dev/description', (route) => route.fulfill({ body: 'no JSON' }))
    await send('lookup', /^200 OK/)
    expect(await textOf('lookup', '.drawn')).toBe(
      'This page cannot draw the answer. It is below, as it came.',
    )
    await within('lookup', '.json summary').click()
    expect(JSON.parse(await textOf('lookup', '.body'))).toMatchObject({ version: { protocol: 769 } })
    await page.route('**/v4/games/**', (route) => route.fulfill({ status: 502, body: '<b>Bad gateway</b>' }))
    await send('lookup', /^502 Bad Gateway/)
    expect(await textOf('lookup', '.drawn')).toBe(
      'This page cannot draw the answer. It is below, as it came.',
    )
    expect(await textOf('lookup', '.json')).toBe('Body\n<b>Bad gateway</b>')
    expect(complaints.splice(0)).toEqual([
      expect.stringContaining('SyntaxError'),
      expect.stringContaining('502 (Bad Gateway)'),
      expect.stringContaining('SyntaxError'),
    ])
  })

  test('a command that has ended is said, and nothing of the answer before is left', async () => {
    await open()
    await send('dns', /^200 OK/)
    await page.route('**/{v3,dev}/**', (route) => route.abort())
    await send('dns', /^No answer$/)
    expect(await textOf('dns', '.drawn')).toBe('Nothing answers anymore. Is the command still running?')
    expect(await within('dns', '.answer details:visible').count()).toBe(0)
    await page.unroute('**/{v3,dev}/**')
    await page.route('**/dev/values', (route) => route.abort())
    await page.reload()
    await expect
      .poll(() => page.locator('[role=alert]').innerText(), patience)
      .toBe('The forms cannot be filled in. Is the command still running?')
    expect(complaints.splice(0)).toEqual(expect.arrayContaining([expect.stringContaining('net::ERR_FAILED')]))
  })

  test('nothing runs but its own script, and nothing is fetched from elsewhere', async () => {
    await open()
    const refused: string[] = []
    await page.exposeFunction('refuse', (directive: string) => refused.push(directive))
    await page.evaluate(async () => {
      const { refuse } = globalThis as unknown as { refuse(directive: string): void }
      document.addEventListener('securitypolicyviolation', (event) => refuse(event.effectiveDirective))
      const attempts = [
        () => (document.body.innerHTML = '<img src=x onerror=alert(1)>'),
        () => document.body.append(Object.assign(document.createElement('img'), { src: '/picture.png' })),
        () => document.body.setAttribute('style', 'color: red'),
        () => document.body.append(Object.assign(document.createElement('style'), { textContent: '*{}' })),
        () => fetch('http://localhost:1/'),
      ]
      for (const attempt of attempts)
        try {
          await attempt()
        } catch {
          // As it should.
        }
    })
    await expect
      .poll(() => new Set(refused), patience)
      .toEqual(
        new Set(['connect-src', 'img-src', 'require-trusted-types-for', 'style-src-attr', 'style-src-elem']),
      )
    complaints.length = 0
  })

  test('of two requests under way, the later one is shown', async () => {
    await open()
    const summaries: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/dev/summary')) summaries.push(request.url())
    })
    const first = page.waitForResponse((response) => response.url().endsWith('/dnscheck') && response.ok())
    const later = Promise.withResolvers<void>()
    const hold = async (route: Route): Promise<void> => {
      await later.promise
      await route.continue()
    }
    await page.route('**/dnscheck', hold, { times: 1 })
    const sent = page.waitForRequest('**/dnscheck')
    await within('dns', '.send').click()
    await sent
    await within('dns', '[name=X-Domain]').fill('a..b')
    await send('dns', /^400 /)
    later.resolve()
    await (await first).finished()
    await page.evaluate(() => new Promise(requestAnimationFrame))
    expect([await textOf('dns', '.status'), summaries]).toEqual([expect.stringMatching(/^400 /), []])
    expectOnly(400)
  })

  test('everything is done by keyboard', async () => {
    await open(390)
    const focused = (): Promise<string> =>
      page.evaluate(() => {
        const { activeElement: element } = document
        return element?.getAttribute('name') ?? element?.textContent.trim() ?? ''
      })
    const until = async (name: string): Promise<void> => {
      for (let presses = 0; (await focused()) !== name; presses += 1) {
        expect(presses, name).toBeLessThan(60)
        await page.keyboard.press('Tab')
      }
    }
    await until('DNS check')
    await page.keyboard.press('Enter')
    await until('X-Domain')
    expect(await within('dns', ':focus').count()).toBe(1)
    await page.keyboard.press('Enter')
    await expect.poll(() => textOf('dns', '.status'), patience).toMatch(/^200 OK/)
    await until('notation-dns')
    await page.keyboard.press('ArrowRight')
    expect(await textOf('dns', '.request')).toMatch(/^curl -sS /)
    await until('As sent and received')
    await page.keyboard.press('Enter')
    expect(await textOf('dns', '.wire')).toMatch(/^GET \/v3\/tools\/dnscheck HTTP\/1\.1\n/)
  })

  test.each([
    [320, 'light'],
    [390, 'light'],
    [390, 'dark'],
    [1280, 'light'],
    [1280, 'dark'],
  ] as const)(
    'at %i px, %s: all five at once, nothing too wide, and axe finds nothing',
    async (width, scheme) => {
      await open(width, scheme)
      await page.locator('#all').click()
      await expect
        .poll(() => page.locator('nav b').allInnerTexts(), patience)
        .toEqual(['200', '200', '200', '200', '200'])
      await expect.poll(() => page.locator('#said').innerText(), patience).toMatch(/Game server 200$/)
      await picture(`dev-${width}-${scheme}`)
      await review(width)
      for (const { id } of operations) await send(id, /^4\d\d /, '[data-wrong]')
      await within('lookup', '[name=X-Port]').fill('70000')
      await send('lookup', /^400 /)
      await page.locator('details').evaluateAll((all) => all.forEach((fold) => fold.setAttribute('open', '')))
      await picture(`dev-${width}-${scheme}-wrong`)
      await review(width)
      complaints.length = 0
    },
  )

  async function review(width: number): Promise<void> {
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    const { violations } = (await page.evaluate(`${axe.source}; axe.run()`)) as axe.AxeResults
    expect(violations.map(({ id, impact, nodes }) => [id, impact, nodes.map(({ html }) => html)])).toEqual([])
  }

  async function picture(name: string): Promise<void> {
    const folder = process.env['SCREENSHOTS']
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
  }
})
