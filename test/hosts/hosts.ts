/**
 * Frameworks and function platforms, each with the line that mounts the operations and what it stumbles over without it.
 * The tests run the line as it stands here, and the guide on mounting shows it.
 */
import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { UtilityApi } from 'utility-api'
import { toExpressHandler } from 'utility-api/express'
import { toNodeHandler } from 'utility-api/node'
import { sendToFetch, sendToPort, answerOf } from '../http/support/send.ts'
import type { StartSurface, Surface } from '../http/support/surfaces.ts'

/** A host is installed on demand, so it has no types here. */
// oxlint-disable-next-line no-explicit-any -- as above
type Untyped = any

export interface HostOfTable {
  readonly name: string
  /** The line, or the few. */
  readonly line: string
  /** What to know. */
  readonly trick: string
  /** What the tests run, if that is less than the whole host. */
  readonly tested?: string
  /** Rows that it judges by rules of its own before the mount sees the request. */
  readonly judges?: RegExp
  readonly start?: StartSurface
}

export const isInstalled: boolean = existsSync(join(import.meta.dirname, 'node_modules'))

function load(name: string): Promise<Untyped> {
  return import(/* @vite-ignore */ name) as Promise<Untyped>
}

async function listen(listener: unknown, prefix?: string): Promise<Surface> {
  return onPort(createServer(listener as RequestListener).listen(0, '127.0.0.1'), prefix)
}

/** A server that listens, or begins to. */
async function onPort(server: Server, prefix = ''): Promise<Surface> {
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    send: (request) => sendToPort(port, { ...request, path: prefix + request.path }),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function fetching(fetch: unknown): Surface {
  return {
    send: (request) => sendToFetch({ fetch: fetch as UtilityApi['fetch'] }, request),
    close: async () => {},
  }
}

/** Calls a function of AWS Lambda with an event of an HTTP API, as its gateway makes it. */
function onLambda(handler: unknown): Surface {
  const call = handler as (event: object, context: object) => Promise<LambdaAnswer>
  return {
    async send({ method, path, headers = {}, body }) {
      const [rawPath = '/', rawQueryString = ''] = path.split(/\?(.*)/s)
      const pairs = Object.entries({ host: 'localhost', ...headers })
      const http = { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' }
      const {
        statusCode,
        headers: sent,
        body: text = '',
        isBase64Encoded,
      } = await call(
        {
          version: '2.0',
          routeKey: '$default',
          rawPath,
          rawQueryString,
          headers: Object.fromEntries(
            pairs.map(([name, value]) => [name.toLowerCase(), [value].flat().join(',')]),
          ),
          requestContext: {
            http,
            stage: '$default',
            domainName: 'localhost',
            requestId: randomUUID(),
            accountId: 'a',
          },
          body: body === undefined ? undefined : Buffer.from(body).toString('base64'),
          isBase64Encoded: body !== undefined,
        },
        {},
      )
      const lower = Object.entries(sent).map(([name, value]) => [name.toLowerCase(), String(value)])
      return answerOf(
        statusCode,
        Object.fromEntries(lower) as Record<string, string>,
        isBase64Encoded === true ? Buffer.from(text, 'base64').toString() : text,
      )
    },
    close: async () => {},
  }
}

interface LambdaAnswer {
  readonly statusCode: number
  readonly headers: Record<string, unknown>
  readonly body?: string
  readonly isBase64Encoded?: boolean
}

/** Programs of frameworks that must be built. They take the service from where the tests have put it. */
const programs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kit: {
    'package.json': '{ "type": "module" }',
    'src/app.html': '%sveltekit.head%%sveltekit.body%',
    'src/routes/[...path]/+server.js': `const api = { fetch: (...args) => globalThis.utilityApi().fetch(...args) }
export const fallback = ({ request, getClientAddress }) => api.fetch(request, { ip: getClientAddress() })`,
    'vite.config.js': `import adapter from '@sveltejs/adapter-node'
import { sveltekit } from '@sveltejs/kit/vite'
export default { plugins: [sveltekit({ adapter: adapter(), csrf: { trustedOrigins: ['*'] } })] }`,
  },
  astro: {
    'package.json': '{ "type": "module" }',
    'src/pages/[...path].js': `const api = { fetch: (...args) => globalThis.utilityApi().fetch(...args) }
export const prerender = false
export const ALL = ({ request, clientAddress }) => api.fetch(request, { ip: clientAddress })`,
    'astro.config.mjs': `import node from '@astrojs/node'
export default { adapter: node({ mode: 'middleware' }), security: { checkOrigin: false } }`,
  },
}

const folder = import.meta.dirname
const builds: Readonly<Record<string, readonly string[]>> = {
  kit: ['vite/bin/vite.js', 'build'],
  astro: ['astro/bin/astro.mjs', 'build'],
}

/** Builds a program, once for each lock file and text, and returns the folder. */
function built(name: string): string {
  const files = Object.entries(programs[name] ?? {})
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  const digest = createHash('sha256')
    .update(lock + JSON.stringify(files))
    .digest('hex')
    .slice(0, 16)
  const done = join(folder, 'built', `${name}-${digest}`)
  if (existsSync(done)) return done
  mkdirSync(join(folder, 'built'), { recursive: true })
  // Files of tests that build it at the same time do not meet.
  const made = mkdtempSync(join(folder, 'built', 'new-'))
  for (const [file, text] of files) {
    mkdirSync(dirname(join(made, file)), { recursive: true })
    writeFileSync(join(made, file), text)
  }
  const [program = '', ...args] = builds[name] ?? []
  execFileSync(process.execPath, [join(folder, 'node_modules', program), ...args], {
    cwd: made,
    env: { ...process.env, ASTRO_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' },
    stdio: 'pipe',
  })
  try {
    renameSync(made, done)
  } catch {
    rmSync(made, { recursive: true })
  }
  return done
}

/** The service that the built programs serve: that of the world made last. */
let served: UtilityApi | undefined
Object.assign(globalThis, { utilityApi: () => served })

async function startBuilt(name: string, entry: string, api: UtilityApi): Promise<Surface> {
  served = api
  const { handler } = await load(pathToFileURL(join(built(name), entry)).href)
  return listen(handler)
}

/** Parsers read charsets and encodings, and answer malformed bodies, or those that are too large. */
const afterParsers =
  /charset "[^"]|Content-Encoding|^JSON [^[]|that is (a broken escape|no UTF-8)$|no UTF-8$|^form code=%|64 KB|repeated \w+ in JSON|repeated member|__proto__/

export const hosts: readonly HostOfTable[] = [
  {
    name: 'Nuxt, Nitro',
    line: 'fromNodeMiddleware(toNodeHandler(api))',
    trick:
      'The default export of `server/routes/[...].ts`. A wrapper must return the promise of the handler, or the framework answers first.',
    tested: 'h3, its server',
    async start(api) {
      const { createApp, fromNodeMiddleware, toNodeListener } = await load('h3')
      return listen(toNodeListener(createApp().use(fromNodeMiddleware(toNodeHandler(api)))))
    },
  },
  {
    name: 'SvelteKit',
    line: 'export const fallback = ({ request, getClientAddress }) => api.fetch(request, { ip: getClientAddress() })',
    trick:
      "In `src/routes/api/[...path]/+server.ts`. SvelteKit answers 403 to every license without a `Content-Type`, so let programs send `application/json`. `csrf: { trustedOrigins: ['*'] }` would leave your own forms unprotected, too.",
    // It redirects a path with a trailing slash, and passes on the first of two headers.
    judges: /^path .*\/$|that is (a broken escape|no UTF-8)$|a repeated header$/,
    start: (api) => startBuilt('kit', 'build/handler.js', api),
  },
  {
    name: 'Astro',
    line: 'export const ALL = ({ request, clientAddress }) => api.fetch(request, { ip: clientAddress })',
    trick:
      'In `src/pages/api/[...path].ts`, beside `export const prerender = false`. Licenses as with SvelteKit; `security: { checkOrigin: false }` would leave your forms unprotected.',
    // It passes on the first of two headers.
    judges: /with spaces and a line end|a repeated header$/,
    start: (api) => startBuilt('astro', 'dist/server/entry.mjs', api),
  },
  {
    name: 'React Router',
    line: 'const loader = ({ request }) => api.fetch(request)',
    trick:
      'In a route without a component, such as `app/routes/api.$.ts`; exported as `loader` and as `action`.',
    tested: 'its request handler, without a build',
    judges: /with spaces and a line end/,
    async start(api) {
      const { createRequestHandler } = await load('react-router')
      const loader = ({ request }: Untyped) => api.fetch(request)
      const module = { loader, action: loader }
      const build = {
        routes: { api: { id: 'api', path: '*', module } },
        entry: { module: { default: () => new Response() } },
        assets: { routes: {}, entry: { module: '', imports: [] }, url: '', version: '' },
        basename: '/',
        publicPath: '/',
        assetsBuildDirectory: '',
        future: {},
        ssr: true,
        isSpaMode: false,
        prerender: [],
        routeDiscovery: { mode: 'initial', manifestPath: '/__manifest' },
      }
      return fetching(createRequestHandler(build, 'production'))
    },
  },
  {
    name: 'Elysia',
    line: "app.all('/*', ({ request }) => api.fetch(request))",
    trick: 'Elysia leaves the body to the mount.',
    async start(api) {
      const { Elysia } = await load('elysia')
      const app = new Elysia()
      app.all('/*', ({ request }: Untyped) => api.fetch(request))
      return fetching((request: Request) => app.handle(request))
    },
  },
  {
    name: 'Hapi',
    line: "server.ext('onRequest', async ({ raw }, h) => (await serveApi(raw.req, raw.res), h.abandon))",
    trick: 'Before Hapi reads the body.',
    async start(api) {
      const { server: createHapi } = await load('@hapi/hapi')
      const server = createHapi({ port: 0, host: '127.0.0.1' })
      const serveApi = toNodeHandler(api)
      server.ext(
        'onRequest',
        async ({ raw }: Untyped, h: Untyped) => (await serveApi(raw.req, raw.res), h.abandon),
      )
      await server.start()
      return onPort(server.listener)
    },
  },
  {
    name: 'Restify',
    line: 'server.pre(toExpressHandler(api, { fallthrough: true }))',
    trick: 'Before routes and body parsers.',
    tested: 'nothing: Restify 11 does not load on Node.js 24',
  },
  {
    name: 'Polka',
    line: "app.use('/api', toExpressHandler(api))",
    trick: 'As in Express.',
    async start(api) {
      const { default: polka } = await load('polka')
      const app = polka()
      app.use('/api', toExpressHandler(api))
      return listen(app.handler, '/api')
    },
  },
  {
    name: 'Koa, after body parsers',
    line: 'await serveApi(Object.assign(context.req, { body: context.request.body }), context.res)',
    trick: 'After `context.respond = false`.',
    judges: afterParsers,
    async start(api) {
      const { default: Koa } = await load('koa')
      const { default: bodyParser } = await load('koa-bodyparser')
      const serveApi = toNodeHandler(api)
      const app = new Koa()
      // What cannot be decompressed would be 500.
      app.use(bodyParser({ onerror: (_: Error, context: Untyped) => context.throw(400) }))
      app.use(async (context: Untyped) => {
        context.respond = false
        await serveApi(Object.assign(context.req, { body: context.request.body }), context.res)
      })
      return listen(app.callback())
    },
  },
  {
    name: 'Nest on Express',
    line: "app.use('/api', toExpressHandler(api))",
    trick: 'Before `listen`, and so before the parsers of Nest.',
    async start(api) {
      const { NestFactory } = await load('@nestjs/core')
      const app = await NestFactory.create(await emptyModule(), { logger: false })
      app.use('/api', toExpressHandler(api))
      await app.listen(0, '127.0.0.1')
      return onPort(app.getHttpServer(), '/api')
    },
  },
  {
    name: 'Nest on Fastify',
    line: "app.use('/api', toExpressHandler(api))",
    trick: 'The same line, with an adapter of `@nestjs/platform-fastify`.',
    judges: /that is (a broken escape|no UTF-8)$/,
    async start(api) {
      const { NestFactory } = await load('@nestjs/core')
      const { FastifyAdapter } = await load('@nestjs/platform-fastify')
      const app = await NestFactory.create(await emptyModule(), new FastifyAdapter(), { logger: false })
      app.use('/api', toExpressHandler(api))
      await app.listen(0, '127.0.0.1')
      return onPort(app.getHttpServer(), '/api')
    },
  },
  {
    name: 'AWS Lambda: serverless-http',
    line: 'const handler = serverless(express().use(toExpressHandler(api)))',
    trick: 'An Express application; `basePath` for the stage of a REST API.',
    async start(api) {
      const { default: serverless } = await load('serverless-http')
      const { default: express } = await load('express')
      const handler = serverless(express().use(toExpressHandler(api)))
      return onLambda(handler)
    },
  },
  {
    name: 'AWS Lambda: serverless-express',
    line: 'const handler = serverlessExpress({ app: express().use(toExpressHandler(api)) })',
    trick: 'Of `@codegenie/serverless-express`.',
    async start(api) {
      const { default: module } = await load('@codegenie/serverless-express')
      const { default: express } = await load('express')
      const serverlessExpress = module.default ?? module!
      const handler = serverlessExpress({ app: express().use(toExpressHandler(api)) })
      return onLambda(handler)
    },
  },
  {
    name: 'AWS Lambda: Hono',
    line: "const handler = handle(new Hono().all('*', (context) => api.fetch(context.req.raw)))",
    trick: 'Of `hono/aws-lambda`, which percent-encodes values of headers that are not ASCII.',
    judges:
      /[^ -~]|header text: (?!a comma)|Latin-1|UTF-8|C1 controls|bidi|override|Unicode|combining|emoji|byte order mark/,
    async start(api) {
      const { Hono } = await load('hono')
      const { handle } = await load('hono/aws-lambda')
      const handler = handle(new Hono().all('*', (context: Untyped) => api.fetch(context.req.raw)))
      return onLambda(handler)
    },
  },
  {
    name: 'Google Cloud Functions',
    line: "functions.http('api', toExpressHandler(api))",
    trick: 'The mount takes the bytes that the framework has read.',
    judges: afterParsers,
    async start(api) {
      const functions = await load('@google-cloud/functions-framework')
      const { getTestServer } = await load('@google-cloud/functions-framework/testing')
      functions.http('api', toExpressHandler(api))
      return listen(getTestServer('api').listeners('request')[0])
    },
  },
  {
    name: 'Azure Functions',
    line: "app.http('api', { route: '{*path}', methods, handler: (request) => api.fetch(request) })",
    trick:
      "With `routePrefix` empty in `host.json`, or `basePath: '/api'`; `methods` names GET, HEAD, OPTIONS, POST and PUT.",
    tested: 'its requests and responses, without its host',
    async start(api) {
      const { HttpRequest, HttpResponse } = await load('@azure/functions')
      // Its own `app` does nothing outside of the host.
      const app = { http: (_: string, { handler }: Untyped) => handler }
      const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT']
      const handler = app.http('api', {
        route: '{*path}',
        methods,
        handler: (request: Untyped) => api.fetch(request),
      })
      return {
        async send({ method, path, headers = {}, body }) {
          const flat = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')])
          const bytes = body === undefined ? {} : { body: { bytes: Buffer.from(body) } }
          const given = {
            method,
            url: `http://localhost${path}`,
            headers: Object.fromEntries(flat) as object,
            ...bytes,
          }
          const request = new HttpRequest(given) as unknown as Request
          const answer = new HttpResponse(await handler(request)) as unknown as Response
          return answerOf(answer.status, Object.fromEntries(answer.headers), await answer.text())
        },
        close: async () => {},
      }
    },
  },
]

async function emptyModule(): Promise<unknown> {
  await load('reflect-metadata')
  const { Module } = await load('@nestjs/common')
  // A class, by what a framework sees of it.
  function Application(): void {}
  Module({})(Application)
  return Application
}
