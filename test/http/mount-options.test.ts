import { createUtilityApi, type UtilityApi } from 'utility-api'
import { toBunHandler } from 'utility-api/bun'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { describe, expect, test } from 'vitest'

const api = createUtilityApi({ storage: memoryStorage() })

const mounts: [name: string, mount: (api: UtilityApi, options?: object) => unknown][] = [
  ['toNodeHandler', toNodeHandler],
  ['toExpressHandler', toExpressHandler],
  ['toBunHandler', toBunHandler],
]

describe.each(mounts)('%s', (name, mount) => {
  test.each([
    { trustProxy: 'loopback' },
    { trustProxy: '1' },
    { trustProxy: true },
    { trustProxy: -1 },
    { trustProxy: 1.5 },
    { trustproxy: 1 },
    { basePath: '/api' },
  ])('refuses %j, with which a client could choose its address', (options) => {
    expect(() => mount(api, options)).toThrow(expect.objectContaining({ code: 'invalid_options' }))
    expect(() => mount(api, options)).toThrow(Object.keys(options)[0])
  })

  test.each([null, 1, true, 'x', [], new Map()])('refuses %o in place of options', (options) => {
    const message = `options: must be an object. Write ${name}(api, { trustProxy: 1 }).`
    const refusal = { code: 'invalid_options', message }
    expect(() => mount(api, options as never)).toThrow(expect.objectContaining(refusal))
  })

  test.each([undefined, {}, { trustProxy: undefined }, { trustProxy: 0 }, { trustProxy: 2 }])(
    'takes %j',
    (options) => {
      expect(mount(api, options)).toBeTypeOf('function')
    },
  )

  test.each([undefined, {}, { storage: memoryStorage() }])('refuses %# in place of an api', (wrong) => {
    expect(() => mount(wrong as never)).toThrow('api: must be what createUtilityApi returns.')
  })
})

test('fallthrough is an option of Express alone', () => {
  expect(toExpressHandler(api, { fallthrough: true })).toBeTypeOf('function')
  expect(() => toNodeHandler(api, { fallthrough: true } as object)).toThrow('fallthrough')
  const asText = { fallthrough: 'false' } as object
  expect(() => toExpressHandler(api, asText)).toThrow('fallthrough: must be true or false.')
})

test.each([undefined, 'http://localhost/', { url: '/', method: 'GET', headers: {} }])(
  'a handler that is given %j says what it takes',
  async (wrong) => {
    const says = {
      code: 'invalid_argument',
      message:
        'request must be a Request of the Fetch standard: write new Request(url), or mount toNodeHandler(api) or toExpressHandler(api).',
    }
    await expect(api.fetch(wrong as never)).rejects.toMatchObject(says)
    await expect(api.handlers.checkDns(wrong as never)).rejects.toMatchObject(says)
  },
)
