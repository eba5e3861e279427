import { describe, expect, test } from 'vitest'
import { ServerCheckError } from '../../src/domain/server-status.ts'
import { endsBefore } from '../support/ends-before.ts'
import { cases } from './support/cases.ts'
import { startClient, noneOpen, startServer } from './support/harness.ts'

const marginMs = 400

describe.concurrent(
  'every server has an answer or a clean failure inside the deadline, and no socket stays',
  () => {
    test.for(cases)(
      '$name',
      async ({ server: options, expected, timeoutMs = 10_000 }, { onTestFinished }) => {
        const server = await startServer(options, onTestFinished)
        const client = startClient({}, onTestFinished)
        const { ip, port } = server
        const check = client.status({ host: ip, port, timeoutMs })
        expect(await endsBefore(timeoutMs + marginMs, check)).toBe(true)
        const outcome = await check.catch((error: unknown) => error)
        if (typeof expected === 'string') {
          expect(outcome).toBeInstanceOf(ServerCheckError)
          expect(outcome).toMatchObject({
            reason: expected,
            code: 'server_check_failed',
            message: 'The server check failed.',
          })
        } else {
          expect(outcome).toMatchObject({ ip, port, srvRecord: null, ...expected })
        }
        await noneOpen(server)
      },
    )
  },
)
