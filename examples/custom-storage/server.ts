import { createServer } from 'node:http'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { journalStorage } from './storage.ts'

const storage = await journalStorage(process.env['JOURNAL'] ?? 'journal.jsonl')
const api = createUtilityApi({ storage })
const { token } = await createAdmin({ storage }).createReseller()

const port = Number(process.env['PORT'] ?? 3000)
const server = createServer(toNodeHandler(api)).listen(port, () => {
  console.log(`Listening on http://localhost:${port}, reseller token ${token}`)
})

process.once('SIGTERM', async () => {
  server.close()
  await api.close()
  await storage.close?.()
})
