import { createUtilityApi } from 'utility-api'
import { toBunHandler } from 'utility-api/bun'
import { toExpressHandler } from 'utility-api/express'
import { guardConnections, toNodeHandler } from 'utility-api/node'
import { called, type Mistake, type Mistakes } from './mistake.ts'
import { anyFunction, api, storage } from './values.ts'

const notAnApi = (mount: string): string =>
  `api: must be what createUtilityApi returns. Write ${mount}(createUtilityApi({ storage })).`
const notNode =
  'This handler takes a request and a response of node:http. Where there is a Request, write api.fetch(request).'
const mounts = { toNodeHandler, toExpressHandler, toBunHandler }

export const ofMounts: Mistakes = {
  ...Object.fromEntries(
    Object.entries(mounts).map(([name, mount]): [string, Mistake[]] => [
      name,
      [
        ['nothing', called(mount), notAnApi(name)],
        ['a function that is not called', called(mount, createUtilityApi), notAnApi(name)],
        ['the storage', called(mount, storage), notAnApi(name)],
        ['a request, being the handler itself', called(mount, { url: '/' }, {}, anyFunction), notAnApi(name)],
        [
          'a number of proxies',
          called(mount, api, 1),
          `options: must be an object. Write ${name}(api, { trustProxy: 1 }).`,
        ],
        [
          'trust alone',
          called(mount, api, { trustProxy: true }),
          'trustProxy: must be a number of proxies, 0 or more. Behind one, write { trustProxy: 1 }.',
        ],
        [
          'a request id where its header belongs',
          called(mount, api, { requestId: 'the id' }),
          "requestId: must be a header's name or a function. Write { requestId: 'X-Correlation-Id' }.",
        ],
        [
          'a misspelled option',
          called(mount, api, { trustproxy: 1 }),
          `trustproxy: is not an option of ${name}, which takes trustProxy, requestId${name === 'toExpressHandler' ? ', fallthrough' : ''}; others go to createUtilityApi.`,
        ],
      ],
    ]),
  ),
  guardConnections: [
    [
      'the handler',
      called(guardConnections, toNodeHandler(api)),
      'server: must be what createServer of node:http returns. Write guardConnections(server).',
    ],
    [
      'nothing',
      called(guardConnections),
      'server: must be what createServer of node:http returns. Write guardConnections(server).',
    ],
  ],
  'what toNodeHandler returns': [
    ['a Request', called(toNodeHandler(api), new Request('http://localhost/')), notNode],
  ],
  'what toExpressHandler returns': [
    ['a Request', called(toExpressHandler(api), new Request('http://localhost/'), {}), notNode],
  ],
  'what toBunHandler returns': [
    [
      'nothing',
      called(toBunHandler(api)),
      'request must be a Request of the Fetch standard: write new Request(url), or mount toNodeHandler(api) or toExpressHandler(api).',
    ],
  ],
}
