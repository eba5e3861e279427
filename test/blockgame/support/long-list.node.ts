// Prints how the list of the example fares with so many servers as it is told, a tenth of which hang:
// `node --import ./test/support/sources.ts`, this file, the number and, if it is not the usual one, a deadline in ms.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fakeBlockgameServer } from 'utility-api/testing'
import { createBlockgameClient } from 'utility-api/blockgame'
import { createWatcher } from '../../../examples/server-list/watcher.ts'

/** Two servers on all addresses of loopback, in a process of their own: one answers, one hangs. */
async function serve(): Promise<void> {
  const ip = '0.0.0.0'
  const answering = await fakeBlockgameServer({ ip, status: { players: { online: 3, max: 20 } } })
  const hanging = await fakeBlockgameServer({ ip, script: () => {} })
  process.send?.([answering.port, hanging.port])
}

async function list(count: number, timeoutMs: number): Promise<void> {
  const servers = fork(import.meta.filename, ['serve'])
  const [[answering, hanging]] = await once(servers, 'message')
  const addresses = Array.from(
    { length: count },
    (_, at) => `127.1.${at >> 8}.${at & 0xff}:${at % 10 === 0 ? hanging : answering}`,
  )
  const client = createBlockgameClient({ allowAddress: () => true })
  let [underWay, most, asked] = [0, 0, 0]
  const watcher = createWatcher({
    client: {
      async status(target) {
        asked += 1
        most = Math.max(most, (underWay += 1))
        return client.status({ ...target, timeoutMs }).finally(() => (underWay -= 1))
      },
    },
    addresses,
    ...(timeoutMs < 5000 && { confirmAfterMs: 10 }),
  })
  const before = process.resourceUsage()
  const started = performance.now()
  await watcher.refresh(new AbortController().signal)
  const seconds = (performance.now() - started) / 1000
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  const cpuSeconds = (userCPUTime + systemCPUTime - before.userCPUTime - before.systemCPUTime) / 1e6
  const states = Object.groupBy(watcher.list(), ({ state }) => state)
  const [online, offline] = [states.online?.length, states.offline?.length]
  const memory = { mbBefore: before.maxRSS / 1024, mb: maxRSS / 1024 }
  console.log(JSON.stringify({ online, offline, asked, most, seconds, cpuSeconds, ...memory }))
  await client.close()
  servers.kill()
}

const [first = '', timeoutMs = '5000'] = process.argv.slice(2)
if (first === 'serve') await serve()
else await list(Number(first), Number(timeoutMs))
