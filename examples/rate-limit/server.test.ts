import { RateLimiterMemory, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { expect, test } from 'vitest'
import { startExample } from '../../test/package/start-example.ts'
import { flexibleLimiter } from './limiter.ts'

test('it refuses the sixth request within a second, and repeated wrong credentials', async () => {
  const example = await startExample('rate-limit')
  await expect.poll(example.output).toContain('X-Status')
  const token = /Bearer (\S+)'/.exec(example.output())?.[1]
  const generate = (secret: string | undefined): Promise<Response> =>
    fetch(`${example.url}/v2/reseller/licenses/generate`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${secret}`,
        'X-Registered-To': 'Ada',
        'X-Domain-Or-IP': 'shop.example',
        'X-Status': 'valid',
      },
    })
  const statusesOf = (answers: Response[]): number[] => answers.map(({ status }) => status).toSorted()

  const answers = await Promise.all(Array.from({ length: 6 }, () => generate(token)))
  expect(statusesOf(answers)).toStrictEqual([200, 200, 200, 200, 200, 429])
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.headers.get('Retry-After')).toBe('1')
  expect(await refused?.json()).toMatchObject({ error: 'too_many_requests' })

  const guesses = await Promise.all(Array.from({ length: 4 }, () => generate('a-guess')))
  expect(statusesOf(guesses)).toStrictEqual([401, 401, 401, 429])
  expect(await example.stop()).toBe(0)
})

test('if the store of failures is down, only calls for addresses reject', async () => {
  const down = new Error('The store is down.')
  const broken = { consume: () => Promise.reject(down) } as unknown as RateLimiterAbstract
  const limiter = flexibleLimiter(new RateLimiterMemory({ points: 1, duration: 1 }), broken)
  await expect(limiter.consume('address:192.0.2.1')).rejects.toBe(down)
  expect(await limiter.consume('client:c1')).toStrictEqual({ allowed: true })
})
