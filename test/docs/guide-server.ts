import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import express from 'express'
import * as library from 'utility-api'
import {
  createAdmin,
  createUtilityApi,
  type Admin,
  type UtilityApi,
  type UtilityApiOptions,
} from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { fixedClock, type FixedClock } from 'utility-api/testing'
import { expect, onTestFinished } from 'vitest'
import { codeBlocks } from './code-blocks.ts'

// Runs the programs of the guide as they stand there, in the server that they need.

/** The program of a page that begins so. */
export function programOf(page: string, start: string): string {
  const found = codeBlocks().filter(
    ({ file, text }) => file === `docs/guide/${page}.md` && text.startsWith(start),
  )
  expect(found).toHaveLength(1)
  const text = found[0]?.text ?? ''
  expect(text.split('\n').length).toBeLessThanOrEqual(10)
  return text
}

const imports = /^import [^]*? from '.*'$/gm
const AsyncFunction = (async () => {}).constructor as new (
  ...texts: string[]
) => (...values: unknown[]) => Promise<unknown>

/** Runs a program, with these names beside those that it may import. Returns what it calls `result`. */
export function run(text: string, names: Readonly<Record<string, unknown>>, result = ''): Promise<unknown> {
  const scope = { ...library, createHmac, timingSafeEqual, express, ...names }
  const program = new AsyncFunction(
    ...Object.keys(scope),
    `${stripTypeScriptTypes(text)
      .replaceAll(imports, '')
      .replaceAll(/^export /gm, '')}\nreturn ${result}`,
  )
  return program(...Object.values(scope))
}

export interface World {
  readonly url: string
  readonly admin: Admin
  readonly api: UtilityApi
  readonly clock: FixedClock
  get(path: string): Promise<Answer>
  post(path: string, body: object | string, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

export interface Answer {
  readonly status: number
  readonly text: string
}

type ServiceOptions = Omit<Partial<UtilityApiOptions>, 'storage'> & {
  readonly storage?: AdminStorage
  /** What is the reader's own. */
  readonly names?: Readonly<Record<string, unknown>>
}

/** Makes a server with one program of the guide on it, and all five operations. */
export async function serve(
  program: string,
  { storage = memoryStorage(), names = {}, ...options }: ServiceOptions = {},
): Promise<World> {
  const clock = fixedClock()
  const admin = createAdmin({ storage, clock, licenses: { allowWildcards: true } })
  const api = createUtilityApi({ storage, clock, dns: false, blockgame: false, ...options })
  await admin.createReseller({ resellerId: 'shop' })
  // Express prints errors while it is not in production.
  const app = express().set('env', 'test')
  // What providers sign is read by the routes themselves.
  app.use(/^(?!\/paid\/)/, express.json())
  await run(program, { api, admin, app, ...names })
  const operations = toNodeHandler(api)
  const server = createServer((request, response) =>
    request.url?.startsWith('/v2/') === true ? operations(request, response) : app(request, response),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await api.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const answerOf = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await fetch(url + path, init)
    return { status: response.status, text: await response.text() }
  }
  const json = { 'Content-Type': 'application/json' }
  return {
    url,
    admin,
    api,
    clock,
    get: answerOf,
    post(path, body, headers) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return answerOf(path, { method: 'POST', headers: { ...json, ...headers }, body: text })
    },
  }
}
