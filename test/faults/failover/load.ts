import { setTimeout as sleep } from 'node:timers/promises'
import { Ledger } from './ledger.ts'
import { send, type Answer } from './send.ts'
import { redirectUri, type World } from './world.ts'

/** Clients that ask for every code at once. */
const racers = 20

/** How often an order is repeated with its idempotency key before its client gives it up. */
const maxRepeats = 5

export interface Load {
  readonly ledger: Ledger
  /** Resolves when the last answer is in, or lost. */
  stop(): Promise<void>
}

/** How many of the clients update: two for each license, each its own field. */
export function updatersOf(clients: number): number {
  return 2 * Math.floor((clients - racers) / 4)
}

/** Lets clients ask one thing after the other until told to stop. */
export function startLoad(world: World, origins: readonly string[], clients: number): Load {
  const load = new Clients(world, origins)
  const updaters = updatersOf(clients)
  const loops = [load.race()]
  for (let index = 0; index < updaters; index += 1) loops.push(load.update(index))
  for (let index = 0; index < clients - racers - updaters; index += 1) {
    loops.push(index % 2 === 0 ? load.generate(index) : load.order(index))
  }
  return {
    ledger: load.ledger,
    stop: async () => {
      load.stopped = true
      await Promise.all(loops)
    },
  }
}

class Clients {
  readonly ledger: Ledger = new Ledger()
  stopped = false
  readonly #world: World
  readonly #origins: readonly string[]

  constructor(world: World, origins: readonly string[]) {
    this.#world = world
    this.#origins = origins
  }

  /** Twenty at once for each code, from all servers. */
  async race(): Promise<void> {
    for (const code of this.#world.codes) {
      const askAll = Array.from({ length: racers }, (_, index) => this.#exchange(code, this.#origin(index)))
      await Promise.all(askAll)
      if (this.stopped) return
    }
  }

  /** One license after the other, without idempotency keys. */
  async generate(index: number): Promise<void> {
    for (let count = 0; !this.stopped; count += 1) {
      await this.#order(`plain ${index} ${count}`, this.#origin(index + count))
    }
  }

  /** One order after the other, each repeated until it is answered; every fourth once more. */
  async order(index: number): Promise<void> {
    for (let count = 0; !this.stopped; count += 1) {
      const name = `order ${index} ${count}`
      let done = false
      for (let attempt = 0; attempt < maxRepeats && !done && !this.stopped; attempt += 1) {
        done = await this.#order(name, this.#origin(index + count + attempt), `order-${index}-${count}`)
      }
      if (done && count % 4 === 0) await this.#order(name, this.#origin(count), `order-${index}-${count}`)
    }
  }

  /** One field of one license, over and over; a neighbor writes the other one. */
  async update(index: number): Promise<void> {
    const key = this.#world.licenseKeys[Math.floor(index / 2)] ?? ''
    const header = index % 2 === 0 ? 'X-Registered-To' : 'X-Domain-Or-IP'
    for (let value = 1; !this.stopped; value += 1) {
      const text = index % 2 === 0 ? `value ${value}` : `n${value}.example.com`
      const origin = this.#origin(index + value)
      const answer = await this.#ask(`${origin}/v2/reseller/${key}/update`, 'PUT', {
        Authorization: `Bearer ${this.#world.resellerToken}`,
        [header]: text,
      })
      const field = index % 2 === 0 ? 'registeredTo' : 'domainOrIp'
      this.ledger.history.updated(key, field, index % 2 === 0 ? 'value 0' : 'n0.example.com', text, answer)
      if (answer.status !== 200) continue
      this.ledger.acknowledge(origin, answer.askedAt)
      this.ledger.fields.set(`${key} ${header}`, value)
    }
  }

  async #order(name: string, origin: string, idempotencyKey?: string): Promise<boolean> {
    const answer = await this.#ask(`${origin}/v2/reseller/licenses/generate`, 'POST', {
      Authorization: `Bearer ${this.#world.resellerToken}`,
      'X-Registered-To': name,
      'X-Domain-Or-IP': 'example.com',
      'X-Status': 'valid',
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    })
    const { data } = JSON.parse(answer.body || '{}') as { data?: { license_key: string } }
    this.ledger.history.ordered(name, idempotencyKey, answer, data?.license_key)
    if (answer.status !== 200 || data === undefined) return false
    this.ledger.acknowledge(origin, answer.askedAt)
    this.ledger.licenses.set(data.license_key, name)
    if (idempotencyKey === undefined) return true
    const answered = this.ledger.orders.get(idempotencyKey) ?? new Set()
    this.ledger.orders.set(idempotencyKey, answered.add(data.license_key))
    return true
  }

  async #exchange(code: string, origin: string): Promise<void> {
    const { clientId: client_id, clientSecret: client_secret } = this.#world
    const fields = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id,
      client_secret,
    }
    const headers = { 'Content-Type': 'application/json' }
    const answer = await this.#ask(`${origin}/v4/oauth2/token`, 'POST', headers, JSON.stringify(fields))
    const { access_token } = JSON.parse(answer.body || '{}') as { access_token?: string }
    this.ledger.history.exchanged(code, answer, access_token)
    if (answer.status !== 200 || access_token === undefined) return
    this.ledger.acknowledge(origin, answer.askedAt)
    this.ledger.tokens.set(code, [...(this.ledger.tokens.get(code) ?? []), access_token])
  }

  async #ask(...request: Parameters<typeof send>): Promise<Answer> {
    const answer = await send(...request)
    this.ledger.answered(answer.status, answer.tookMs)
    // Trouble may be answered at once: without a breath this would be a busy loop.
    if (answer.status === 0 || answer.status >= 500) await sleep(20)
    return answer
  }

  #origin(index: number): string {
    return this.#origins[index % this.#origins.length] ?? ''
  }
}
