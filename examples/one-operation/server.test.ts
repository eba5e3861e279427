import { fakeBlockgameServer } from 'utility-api/testing'
import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'

test('it serves one operation, at its own path, with its own keys', async () => {
  const game = await fakeBlockgameServer({ status: { players: { online: 3, max: 20 } } })
  const address = `${game.ip}:${game.port}`
  const example = await startExample('one-operation', { API_KEY: 'our-key', OWN_SERVER: address })
  const ask = (headers: Record<string, string>): Promise<Response> => fetch(example.url, { headers })

  const answer = await ask({ Basic: 'our-key', 'X-Address': address })
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({ port: String(game.port), players: { online: 3, max: 20 } })
  expect((await ask({ Basic: 'another', 'X-Address': address })).status).toBe(401)
  expect((await ask({ Basic: 'our-key', 'X-Address': '127.0.0.1:25565' })).status).toBe(400)
  expect((await fetch(example.url, { method: 'PUT' })).status).toBe(405)
  expect((await fetch(new URL('/v4/games/blockgame/lookup', example.url))).status).toBe(404)

  expect(await example.stop()).toBe(0)
  await game.close()
})
