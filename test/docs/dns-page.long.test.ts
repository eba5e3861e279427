import { once } from 'node:events'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import express, { type Express, type Request, type Response } from 'express'
import { createUtilityApi, type UtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeDnsServer } from 'utility-api/testing'
import { expect, onTestFinished, test } from 'vitest'
import { hasBrowser, launchBrowser } from './browser.ts'
import { codeBlocks } from './code-blocks.ts'

/** The only block of the guide's page on DNS that begins so. */
function blockOf(start: string): string {
  const found = codeBlocks().filter(
    ({ file, text }) => file === 'docs/guide/dns.md' && text.startsWith(start),
  )
  expect(found).toHaveLength(1)
  return found[0]?.text ?? ''
}

/** Sends each line in two parts, as a network may. */
function inHalves(_request: Request, response: Response, next: () => void): void {
  const write = response.write.bind(response) as (text: string) => boolean
  const end = response.end.bind(response) as () => Response
  let written = Promise.resolve()
  response.write = (text: string) => {
    written = written.then(async () => {
      write(text.slice(0, 20))
      await setTimeout(30)
      write(text.slice(20))
    })
    return true
  }
  response.end = () => {
    void written.then(end)
    return response
  }
  next()
}

test.skipIf(!hasBrowser())('the page of the guide draws each row as its answer comes', async () => {
  const released = Promise.withResolvers<void>()
  const servers = [
    await fakeDnsServer({ records: [{ type: 'A', host: 'shop.example', ttl: 60, ip: '192.0.2.7' }] }),
    await fakeDnsServer({ reply: async () => void (await released.promise) }),
  ]
  const locations = servers.map(({ ip, port }, at) => ({ location: `L${at}`, ip, port, provider: 'P' }))
  const api = createUtilityApi({ storage: memoryStorage(), dns: { locations } })

  // Express prints errors while it is not in production.
  const app = express().set('env', 'test')
  app.use('/rows', inHalves)
  const route = stripTypeScriptTypes(blockOf("app.get('/rows/:domain'"))
  const mount = new Function('app', 'api', route) as (app: Express, api: UtilityApi) => void
  mount(app, api)
  app.get('/', (_request, response) => void response.type('html').send(blockOf('<!doctype html>')))
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const browser = await launchBrowser()
  onTestFinished(async () => {
    await browser.close()
    server.closeAllConnections()
    server.close()
    await api.close()
    await Promise.all(servers.map((each) => each.close()))
  })

  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('pageerror', ({ message }) => complaints.push(message))
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const row = (text: string) => page.locator('tr', { hasText: text }).waitFor()
  await page.fill('input', 'shop.example')
  // Whoever asks twice sees each row once.
  await page.click('button')
  await row('L0')
  await page.click('button')
  await row('L0')
  expect(await page.locator('tr').allInnerTexts()).toEqual(['L0\t192.0.2.7'])
  released.resolve()
  await row('L1')
  expect(await page.locator('tr').allInnerTexts()).toEqual(['L0\t192.0.2.7', 'L1\tNXDOMAIN'])
  await page.fill('input', 'a..b')
  await page.click('button')
  await row('Refused: 400')
  expect(await page.locator('tr').count()).toBe(1)
  expect(complaints).toEqual([])
})
