import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canTravel, missingRuntime, remotes } from './remote.ts'
import { allSurfaces, judgedByHost, surfaces, type TestAnswer, type TestRequest } from './surfaces.ts'
import { createWorld, type World, type WorldOptions } from './world.ts'

/** One line of the contract: what is sent, and the whole of what must come back. */
export interface Row {
  readonly name: string
  readonly request: (world: World) => TestRequest | Promise<TestRequest>
  readonly status: number
  /** The whole body, compared strictly; or a check of it. */
  readonly body?: unknown
  /** Headers that must be there; null: must not be there. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>
  readonly check?: (world: World, answer: TestAnswer) => void | Promise<void>
}

/**
 * Of how many rows one goes through each surface. In `npm test`, all rows go through the first two surfaces; the others get a
 * part, no two the same, since what a mount does wrong shows in most rows.
 */
const share = allSurfaces ? 1 : 12

/** Runs rows over surfaces: they must not differ. In `npm test`, other runtimes are started only where that is asked for. */
export function runRows(
  title: string,
  all: readonly Row[],
  options: WorldOptions = {},
  withRuntimes: boolean = allSurfaces,
): void {
  const runtimes = withRuntimes && canTravel(options) ? Object.keys(remotes) : []
  const names = [...Object.keys(surfaces), ...runtimes]
  const parts = names.map((surface, at): [string, Row[]] => [
    surface,
    all.filter((_, index) => at < 2 || (index + at) % share === 0),
  ])
  describe.each(parts.filter(([, rows]) => rows.length > 0))(`${title} through %s`, (surface, rows) => {
    const missing = missingRuntime(surface)
    if (missing !== null) return test.skip(missing)
    let world: World
    beforeAll(async () => {
      world = await createWorld(surface, options)
    })
    afterAll(() => world.close())

    const ours = rows.filter(({ name }) => !judgedByHost(surface, name))
    test.each(ours)('$status $name', async ({ request, status, body, headers = {}, check }) => {
      const answer = await world.send(await request(world))
      expect({ status: answer.status, body: answer.json }).toMatchObject({ status })
      expect(answer.status).toBe(status)
      if (body !== undefined) expect(answer.json).toStrictEqual(body)
      for (const [name, value] of Object.entries(headers)) expectHeader(answer, name, value)
      // On every answer: an API key in a header is no credential that shared caches know.
      expectHeader(answer, 'Cache-Control', 'no-store')
      expectHeader(answer, 'X-Content-Type-Options', 'nosniff')
      expectContentLength(answer)
      await check?.(world, answer)
    })

    const theirs = rows.filter(({ name }) => judgedByHost(surface, name))
    if (theirs.length === 0) return
    test.each(theirs)('judged by the host: $name', async ({ request }) => {
      const { status } = await world.send(await request(world))
      expect(status).toBeLessThan(500)
    })
  })
}

function expectHeader(answer: TestAnswer, name: string, value: string | RegExp | null): void {
  const sent = answer.headers[name.toLowerCase()]
  if (value === null) expect(sent).toBeUndefined()
  else if (value instanceof RegExp) expect(sent).toMatch(value)
  else expect(sent).toBe(value)
}

function expectContentLength({ text, headers }: TestAnswer): void {
  if (text !== '') expect(headers['content-length']).toBe(String(Buffer.byteLength(text)))
}
