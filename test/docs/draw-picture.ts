// `npm run picture`: takes the picture of the README, docs/dev.webp, of the page that `dev` serves.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { devPages } from '../../adapters/cli/serving/dev-pages.ts'
import { createDevWorld } from '../../adapters/cli/serving/dev-world.ts'
import { createService } from '../../adapters/cli/serving/http-service.ts'
import { launchBrowser } from './browser.ts'

const path = fileURLToPath(new URL('../../docs/dev.webp', import.meta.url))

await using world = await createDevWorld({})
const options = { prefix: '', trustProxy: 0, openapi: true, pages: devPages(world) }
const { server } = createService(world.api, options)
await once(server.listen(0, '127.0.0.1'), 'listening')
const browser = await launchBrowser()
const page = await browser.newPage({ viewport: { width: 1100, height: 1200 } })
await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`)
await page.locator('html[data-ready]').waitFor()
const form = page.locator('#generate')
await form.locator('.send').click()
await form.getByText('License generated.').first().waitFor()
await page.mouse.move(0, 0)
const { x, y, width } = (await form.boundingBox())!
const png = await page.screenshot({ clip: { x, y, width, height: 542 } })
const webp = await page.evaluate(async (octets) => {
  const image = new Image()
  image.src = `data:image/png;base64,${octets}`
  await image.decode()
  const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
  canvas.getContext('2d')!.drawImage(image, 0, 0)
  return canvas.toDataURL('image/webp', 0.6).split(',')[1]!
}, png.toString('base64'))
writeFileSync(path, Buffer.from(webp, 'base64'))
await browser.close()
server.closeAllConnections()
server.close()
console.log(`Taken: ${path}`)
