import { execFile, spawnSync } from 'node:child_process'
import { createHmac, createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { createAdmin, type Admin, type License, type RequestEndEvent, type UtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { sqliteStorage } from 'utility-api/storage/sqlite'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { codeBlocks } from './code-blocks.ts'
import { programOf, run, serve, type Answer, type World } from './guide-server.ts'
import { oddRows, type OddRow } from './odd-rows.ts'

// The programs of the guide's page on licenses do the jobs of a shop that has no table of its own: each is run as it
// stands there.

const day = 86_400_000
const php = 'php'
const program = (start: string): string => programOf('licenses', start)
const shop = [
  'export async function sell',
  'import type { UtilityApiError }',
  'import type { AdminLicenseChange }',
  'export async function renew',
  'import { createHmac, timingSafeEqual }',
  "app.post('/paid/stripe'",
  "app.post('/paid/paddle'",
]
  .map(program)
  .join('\n')
const ada = { name: 'Łukasz', domain: 'shop.example', email: 'ada@shop.example' }
const secrets = { stripe: 'whsec_test', paddle: 'pdl_ntfset_test' }

function macOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex')
}

function stripe(type: string, object: object): object {
  return { id: 'evt_1', object: 'event', type, data: { object } }
}

function paddle(event: string, data: object): object {
  return { event_id: 'evt_1', event_type: event, data }
}

function adjustment(payment: string, more: object): object {
  return { id: 'adj_1', transaction_id: payment, type: 'full', status: 'approved', ...more }
}

type Report = (payment: unknown) => object

interface Provider {
  readonly header: string
  signed(text: string, time: number, secret?: string): string
  paid(payment: unknown, customer?: Partial<typeof ada>): object
  readonly unpaid: Report
  readonly refunded: Report
  readonly refundedInPart: Report
  readonly disputed: Report
  readonly won: Report
  readonly overOtherwise: Report
  /** The reports of a subscription's payments: the first buys it, each one says until when it is paid. */
  subscribed(subscription: string, payment: string, until: number): readonly object[]
}

/** What the providers send, by their documentation, as far as a license depends on it. */
const providers: Readonly<Record<'stripe' | 'paddle', Provider>> = {
  stripe: {
    header: 'Stripe-Signature',
    signed: (text, time, secret = secrets.stripe) =>
      `t=${time},v1=${'0'.repeat(64)},v1=${macOf(secret, `${time}.${text}`)},v0=${'1'.repeat(64)}`,
    paid: (payment, { name, email, domain } = ada) =>
      stripe('checkout.session.completed', {
        id: 'cs_1',
        object: 'checkout.session',
        payment_intent: payment,
        payment_status: 'paid',
        status: 'complete',
        customer_details: { name, email },
        metadata: { domain },
      }),
    unpaid: (payment) =>
      stripe('checkout.session.completed', {
        id: 'cs_1',
        object: 'checkout.session',
        payment_intent: payment,
        payment_status: 'unpaid',
        customer_details: { name: ada.name, email: ada.email },
        metadata: { domain: ada.domain },
      }),
    refunded: (payment) =>
      stripe('charge.refunded', { object: 'charge', payment_intent: payment, refunded: true, metadata: {} }),
    refundedInPart: (payment) =>
      stripe('charge.refunded', { object: 'charge', payment_intent: payment, refunded: false, metadata: {} }),
    disputed: (payment) =>
      stripe('charge.dispute.created', {
        object: 'dispute',
        payment_intent: payment,
        status: 'needs_response',
      }),
    won: (payment) =>
      stripe('charge.dispute.closed', { object: 'dispute', payment_intent: payment, status: 'won' }),
    overOtherwise: (payment) =>
      stripe('charge.dispute.closed', {
        object: 'dispute',
        payment_intent: payment,
        status: 'warning_closed',
      }),
    subscribed: (subscription, payment, until) => [
      ...(payment === 'pay_1'
        ? [
            stripe('checkout.session.completed', {
              object: 'checkout.session',
              payment_intent: null,
              subscription,
              payment_status: 'paid',
              customer_details: { name: ada.name, email: ada.email },
              metadata: { domain: ada.domain },
            }),
          ]
        : []),
      stripe('invoice.paid', {
        object: 'invoice',
        status: 'paid',
        parent: { type: 'subscription_details', subscription_details: { subscription } },
        lines: { data: [{ period: { start: 0, end: until / 1000 } }] },
      }),
    ],
  },
  paddle: {
    header: 'Paddle-Signature',
    signed: (text, time, secret = secrets.paddle) =>
      `ts=${time};h1=${'0'.repeat(64)};h1=${macOf(secret, `${time}:${text}`)}`,
    paid: (payment, customer = ada) =>
      paddle('transaction.completed', { id: payment, status: 'completed', custom_data: customer }),
    unpaid: (payment) => paddle('transaction.created', { id: payment, status: 'ready', custom_data: ada }),
    refunded: (payment) => paddle('adjustment.updated', adjustment(String(payment), { action: 'refund' })),
    refundedInPart: (payment) =>
      paddle('adjustment.updated', adjustment(String(payment), { action: 'refund', type: 'partial' })),
    disputed: (payment) =>
      paddle('adjustment.created', adjustment(String(payment), { action: 'chargeback' })),
    won: (payment) =>
      paddle('adjustment.created', adjustment(String(payment), { action: 'chargeback_reverse' })),
    overOtherwise: (payment) =>
      paddle('adjustment.updated', adjustment(String(payment), { action: 'chargeback_reverse' })),
    subscribed: (subscription, payment, until) => [
      paddle('transaction.completed', {
        id: payment,
        status: 'completed',
        subscription_id: subscription,
        billing_period: { starts_at: new Date(0).toISOString(), ends_at: new Date(until).toISOString() },
        custom_data: ada,
      }),
    ],
  },
}

interface Mail {
  readonly to: string
  readonly text: string
  readonly idempotencyKey: string
}

/** A mailer that drops what it has sent with the same key. */
function mailer(): { sent: Mail[]; sendMail: (mail: Mail) => Promise<void> } {
  const sent: Mail[] = []
  const sendMail = async (mail: Mail): Promise<void> => {
    if (!sent.some(({ idempotencyKey }) => idempotencyKey === mail.idempotencyKey)) sent.push(mail)
  }
  return { sent, sendMail }
}

async function only(admin: Admin): Promise<License> {
  const { licenses } = await admin.listLicenses()
  expect(licenses).toHaveLength(1)
  return licenses[0] as License
}

beforeEach(() => {
  const complaint = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => complaint.mockRestore())
})

describe.each(['stripe', 'paddle'] as const)('%s', (provider) => {
  const { header, signed, paid, ...reports } = providers[provider]

  async function open(
    text = shop,
  ): Promise<World & ReturnType<typeof mailer> & { report: (event: object) => Promise<Answer> }> {
    const mail = mailer()
    const world = await serve(text, { names: { secrets, sendMail: (each: Mail) => mail.sendMail(each) } })
    const report = (event: object): Promise<Answer> => {
      const body = JSON.stringify(event)
      return world.post(`/paid/${provider}`, body, { [header]: signed(body, Math.floor(Date.now() / 1000)) })
    }
    return { ...world, ...mail, report }
  }

  test('a payment reported sixty times at once, and for weeks, is one license and one mail', async () => {
    const { admin, clock, report, sent, url } = await open()
    const answers = await Promise.all(Array.from({ length: 60 }, () => report(paid('pay_1'))))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    for (let week = 0; week < 60; week += 1) {
      clock.advance(7 * day)
      // oxlint-disable-next-line no-await-in-loop
      expect(await report(paid('pay_1'))).toEqual({ status: 200, text: '{}' })
    }
    const license = await only(admin)
    expect(license).toMatchObject({ registeredTo: 'Łukasz', domainOrIp: 'shop.example', status: 'valid' })
    expect(sent).toEqual([{ to: ada.email, text: `Key: ${license.licenseKey}`, idempotencyKey: 'pay_1' }])
    // A reseller who knows the payment gets a license of its own.
    const { token } = await admin.createResellerToken('shop')
    const headers = {
      Authorization: `Bearer ${token}`,
      'X-Registered-To': 'Eve',
      'X-Domain-Or-IP': 'eve.example',
      'X-Status': 'valid',
      'Idempotency-Key': 'pay_1',
    }
    const generated = await fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })
    expect(await generated.json()).toMatchObject({ data: { registered_to: 'Eve' } })
  })

  test('refunds and disputes end the license, a dispute that is won renews it', async () => {
    const { admin, report } = await open()
    const statusAfter = async (event: object): Promise<string> => {
      expect((await report(event)).status).toBe(200)
      return (await only(admin)).status
    }
    expect(await statusAfter(paid('pay_1'))).toBe('valid')
    expect(await statusAfter(reports.refundedInPart('pay_1'))).toBe('valid')
    expect(await statusAfter(reports.disputed('pay_1'))).toBe('invalid')
    expect(await statusAfter(reports.won('pay_1'))).toBe('valid')
    expect(await statusAfter(reports.disputed('pay_1'))).toBe('invalid')
    expect(await statusAfter(reports.overOtherwise('pay_1'))).toBe('valid')
    expect(await statusAfter(reports.refunded('pay_1'))).toBe('invalid')
    // A payment that is reported after its refund stays refunded.
    expect(await statusAfter(paid('pay_1'))).toBe('invalid')
  })

  test('a subscription is one license, which each payment renews', async () => {
    const page = readFileSync('docs/guide/licenses.md', 'utf8')
    const [, renew] = new RegExp(`^- ${provider}, on .*?: \`(renew\\(.*?\\)+)\``, 'im').exec(page) ?? []
    const isPaid = { stripe: "event.type === 'invoice.paid'", paddle: "status === 'completed'" }[provider]
    const end = /^ {2}response\.json\(\{\}\)$/gm
    const { admin, clock, report, sent } = await open(
      shop.replace(end, (line, at: number) => {
        const isHere = shop.lastIndexOf('/paid/', at) === shop.indexOf(`/paid/${provider}`)
        return isHere ? `  if (${isPaid}) await ${renew}\n${line}` : line
      }),
    )
    const start = Math.ceil(clock.now() / 1000) * 1000
    const events = [1, 2, 3].flatMap((month) =>
      reports.subscribed('sub_1', `pay_${month}`, start + month * 30 * day),
    )
    // What comes again late takes no end back.
    for (const event of [...events, ...events.slice(0, 2)]) {
      // oxlint-disable-next-line no-await-in-loop
      expect((await report(event)).status).toBe(200)
    }
    expect(await only(admin)).toMatchObject({ reference: 'sub_1', expiresAt: start + 90 * day })
    expect(sent).toHaveLength(1)
  })

  test('a refund before its payment is reported again, and a payment that is only promised sells nothing', async () => {
    const { admin, report } = await open()
    expect((await report(reports.unpaid('pay_1'))).status).toBe(200)
    expect(await admin.countLicenses()).toBe(0)
    expect((await report(reports.refunded('pay_1'))).status).toBe(500)
    await report(paid('pay_1'))
    expect((await report(reports.refunded('pay_1'))).status).toBe(200)
    expect((await only(admin)).status).toBe('invalid')
  })

  test('a mail that was not sent is sent at the next report', async () => {
    const mail = mailer()
    let isAway = true
    const names = {
      secrets,
      sendMail: (each: Mail) => (isAway ? Promise.reject(new Error('Away.')) : mail.sendMail(each)),
    }
    const { admin, post } = await serve(shop, { names })
    const body = JSON.stringify(paid('pay_1'))
    const report = (): Promise<Answer> =>
      post(`/paid/${provider}`, body, { [header]: signed(body, Math.floor(Date.now() / 1000)) })
    expect((await report()).status).toBe(500)
    isAway = false
    expect((await report()).status).toBe(200)
    expect(mail.sent).toMatchObject([{ text: `Key: ${(await only(admin)).licenseKey}` }])
  })

  test('what is not signed, or signed long ago or by somebody else, sells nothing', async () => {
    const { admin, post } = await open()
    const body = JSON.stringify(paid('pay_1'))
    const now = Math.floor(Date.now() / 1000)
    const signatures = [
      signed(body, now, 'another secret'),
      signed(body, now - 301),
      signed(`${body} `, now),
      signed(body, now).replace(String(now), String(now + 1)),
      `t=${now}`,
      '',
    ]
    for (const signature of signatures) {
      // oxlint-disable-next-line no-await-in-loop
      const answer = await post(`/paid/${provider}`, body, { [header]: signature })
      expect([signature, answer.status]).toEqual([signature, 500])
    }
    expect((await post(`/paid/${provider}`, body)).status).toBe(500)
    expect(await admin.countLicenses()).toBe(0)
  })

  test('what only a person can mend is answered 200, and all else comes again', async () => {
    const { admin, report } = await open()
    await report(paid('sold'))
    await report(paid('deleted'))
    for (const { licenseKey } of (await admin.listLicenses({ reference: 'deleted' })).licenses) {
      // oxlint-disable-next-line no-await-in-loop
      await admin.deleteLicense(licenseKey)
    }
    const complaint = vi.mocked(console.error)
    const told = async (event: object): Promise<unknown[]> => {
      complaint.mockClear()
      const { status } = await report(event)
      return [status, ...(complaint.mock.calls[0]?.slice(0, 2) ?? [])]
    }
    const ask = 'Ask the customer, then sell:'
    expect(await told(paid('url', { ...ada, domain: 'https://a.example/' }))).toEqual([200, ask, 'url'])
    expect(await told(paid('list', { ...ada, domain: 'a.example,b.example' }))).toEqual([200, ask, 'list'])
    expect(await told(paid('name', { ...ada, name: '' }))).toEqual([200, ask, 'name'])
    if (provider === 'paddle') {
      const withoutData = paddle('transaction.completed', {
        id: 'nothing',
        status: 'completed',
        custom_data: null,
      })
      expect(await told(withoutData)).toEqual([200, ask, 'nothing'])
    }
    expect(await told(paid('sold', { ...ada, name: 'Eve' }))).toEqual([200, 'Not sold:', 'sold'])
    expect(await told(paid('deleted'))).toEqual([200, 'Not sold:', 'deleted'])
    for (const id of [undefined, null, '']) {
      // oxlint-disable-next-line no-await-in-loop
      expect((await report(paid(id))).status).toBe(500)
    }
    expect((await only(admin)).reference).toBe('sold')
  })

  test('a payment for a wildcard whose reseller was never created comes again, and is sold once it is', async () => {
    const { admin, report } = await open(shop.replace("'shop'", "'shop-2'"))
    const wildcard = paid('pay_1', { ...ada, domain: '*.shop.example' })
    expect((await report(wildcard)).status).toBe(400)
    await admin.createReseller({ resellerId: 'shop-2' })
    expect((await report(wildcard)).status).toBe(200)
    expect(await only(admin)).toMatchObject({ domainOrIp: '*.shop.example', resellerId: 'shop-2' })
  })
})

test('what is reported later changes the license, and a repeat changes nothing', async () => {
  const page = readFileSync('docs/guide/licenses.md', 'utf8')
  const calls = [...page.matchAll(/^- (.*): `((?:change|renew)\(.*\))`$/gm)]
  const { admin, clock } = await serve('')
  await admin.createReseller({ resellerId: 'pro' })
  const names = {
    admin,
    payment: 'pay_1',
    subscription: 'pay_1',
    trial: 'pay_1',
    paidUntil: '2030-01-01T00:00:00Z',
  }
  const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example', reference: 'pay_1' }
  const { licenseKey } = await admin.createLicense({ ...sold, expiresAt: new Date(clock.now() + day) })
  const changing = `${program('import type { AdminLicenseChange }')}\n${program('export async function renew')}`
  const changes: unknown[] = []
  for (const [, , call = ''] of calls) {
    for (let report = 0; report < 2; report += 1) {
      // oxlint-disable-next-line no-await-in-loop
      await run(`${changing}\nawait ${call}`, names)
    }
    const license = await only(admin)
    expect(license).toMatchObject({ licenseKey, reference: 'pay_1' })
    changes.push([
      license.status,
      license.expiresAt,
      license.domainOrIp,
      license.resellerId,
      license.registeredTo,
    ])
  }
  const end = Date.UTC(2030, 0)
  expect(changes).toEqual([
    ['invalid', clock.now() + day, 'shop.example', 'shop', 'Ada'],
    ['invalid', end, 'shop.example', 'shop', 'Ada'],
    ['invalid', null, 'shop.example', 'shop', 'Ada'],
    ['invalid', null, 'new.example', 'shop', 'Ada'],
    ['invalid', null, 'new.example', 'pro', 'Ada'],
    ['invalid', null, 'erased.invalid', 'pro', 'erased'],
  ])
  // After all that, a late report of the payment still finds the license, as it is now.
  expect(await admin.createLicense(sold)).toMatchObject({
    licenseKey,
    registeredTo: 'erased',
    created: false,
  })
})

test('licenses are found by domain, with www and without, and by payment, and no payment is shown', async () => {
  const { admin, get } = await serve(program("app.get('/support'"))
  const sold = { resellerId: 'shop', registeredTo: 'Ada', reference: 'pay_1' }
  const { licenseKey } = await admin.createLicense({ ...sold, domainOrIp: 'münchen.example' })
  await admin.createLicense({ ...sold, domainOrIp: 'other.example', reference: 'pay_2' })
  const found = { status: 200, text: JSON.stringify([{ licenseKey, status: 'valid', registeredTo: 'Ada' }]) }
  expect(await get('/support?domain=xn--mnchen-3ya.example')).toEqual(found)
  expect(await get('/support?domain=www.münchen.example')).toEqual(found)
  expect(await get('/support?payment=pay_1')).toEqual(found)
})

test('a reseller sees its own licenses, and no payment', async () => {
  const { admin, url } = await serve(program('import { bearerToken }'))
  const { resellerId, token } = await admin.createReseller()
  const sold = { registeredTo: 'Ada', domainOrIp: 'a.example', reference: 'pay_1' }
  const { licenseKey } = await admin.createLicense({ ...sold, resellerId })
  await admin.createLicense({ ...sold, resellerId: 'shop' })
  const ask = (headers: Record<string, string>): Promise<Response> => fetch(`${url}/my/licenses`, { headers })
  const answer = await ask({ Authorization: `Bearer ${token}` })
  expect(await answer.json()).toEqual([{ licenseKey, domainOrIp: 'a.example', status: 'valid' }])
  expect((await ask({})).status).toBe(401)
})

test('all licenses are exported, and those of one reseller revoked', async () => {
  const { admin } = await serve('')
  await admin.createReseller({ resellerId: 'reseller-1' })
  const sell = async (resellerId: string, count: number): Promise<void> => {
    const sold = { resellerId, registeredTo: 'Ada', domainOrIp: 'a.example' }
    await Promise.all(Array.from({ length: count }, () => admin.createLicense(sold)))
  }
  await sell('shop', 1500)
  await sell('reseller-1', 1100)
  const each = program('export async function* eachLicense')
  const all = (await run(
    `${each}\nconst all = []\nfor await (const one of eachLicense()) all.push(one)`,
    { admin },
    'all',
  )) as License[]
  expect(new Set(all.map(({ licenseKey }) => licenseKey)).size).toBe(2600)
  await run(`${each}\n${program('for await (const { licenseKey } of eachLicense({ resellerId')}`, { admin })
  const { licenses } = await admin.listLicenses({ status: 'invalid', limit: 1000 })
  expect([...new Set(licenses.map(({ resellerId }) => resellerId))]).toEqual(['reseller-1'])
  const valid = await admin.listLicenses({ resellerId: 'reseller-1', status: 'valid' })
  expect(valid.licenses).toEqual([])
  expect(await admin.countLicenses({ resellerId: 'reseller-1' })).toBe(1100)
})

test('each customer whose license ends within a week is mailed once', async () => {
  const { admin } = await serve('')
  const ends = { past: -1, soon: 3, sooner: 1, later: 8 }
  for (const [reference, days] of Object.entries(ends)) {
    const expiresAt = new Date(Date.now() + days * day)
    const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'a.example', reference, expiresAt }
    // oxlint-disable-next-line no-await-in-loop
    await admin.createLicense(sold)
  }
  await admin.createLicense({ resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'a.example' })
  const { sent, sendMail } = mailer()
  const text = `${program('export async function* eachLicense')}\n${program('const [endsFrom, endsBefore]')}`
  const names = { admin, sendMail, addressOf: async (reference: string) => `${reference}@a.example` }
  await run(text, names)
  await run(text, names)
  expect(sent.map(({ to }) => to)).toEqual(['sooner@a.example', 'soon@a.example'])
  expect(sent[0]?.text).toContain(new Date(Date.now() + day).toDateString())
})

test('a license is checked online, for the host, the status and the end', async () => {
  const { admin, get } = await serve(program('import { licenseIsGood }'))
  const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: '*.münchen.example' }
  const { licenseKey } = await admin.createLicense(sold)
  const isValid = async (key: string, domain: string): Promise<unknown> =>
    JSON.parse((await get(`/license/${encodeURIComponent(key)}?domain=${domain}`)).text).valid
  const typed = ` ${licenseKey.replaceAll('-', '–').toLowerCase().replace('lic', 'LIC')} `
  expect(await isValid(typed, 'EU.xn--mnchen-3ya.example.:8443')).toBe(true)
  expect(await isValid(licenseKey, 'xn--mnchen-3ya.example')).toBe(false)
  expect(await isValid('LIC-1', 'eu.xn--mnchen-3ya.example')).toBe(false)
  await admin.updateLicense(licenseKey, { expiresAt: new Date(Date.now() - 1) })
  expect(await isValid(licenseKey, 'eu.xn--mnchen-3ya.example')).toBe(false)
  await admin.updateLicense(licenseKey, { expiresAt: new Date(Date.now() + day) })
  expect(await isValid(licenseKey, 'eu.xn--mnchen-3ya.example')).toBe(true)
  await admin.updateLicense(licenseKey, { status: 'invalid' })
  expect(await isValid(licenseKey, 'eu.xn--mnchen-3ya.example')).toBe(false)
})

test('who changed a license is in the event of the request', async () => {
  const events: RequestEndEvent[] = []
  const { admin, url } = await serve('', { onRequestEnd: (event) => events.push(event) })
  const { resellerId, token } = await admin.createReseller()
  const { licenseKey } = await admin.createLicense({
    resellerId,
    registeredTo: 'Ada',
    domainOrIp: 'a.example',
  })
  const headers = { Authorization: `Bearer ${token}`, 'X-Domain-Or-IP': 'b.example' }
  await fetch(`${url}/v2/reseller/${licenseKey}/update`, { method: 'PUT', headers })
  expect(events).toMatchObject([{ operation: 'updateLicense', callerId: resellerId, licenseKey }])
})

const signedRoute = "app.get('/license/:key', async (request, response) => {\n  const options"

test('the shop is a reseller after each start, whatever others there are', async () => {
  const storage = sqliteStorage(new Database(':memory:'))
  await storage.migrate()
  const admin = createAdmin({ storage })
  await admin.createReseller({ resellerId: 'other' })
  const start = codeBlocks().find(({ file }) => file === 'docs/guide/licenses.md')
  const names = { Database: Object, sqliteStorage: () => storage }
  for (let starts = 0; starts < 2; starts += 1) {
    // oxlint-disable-next-line no-await-in-loop
    await ((await run(start?.text ?? '', names, 'api')) as UtilityApi).close()
  }
  const { resellers } = await admin.listResellers()
  expect(resellers.map(({ resellerId }) => resellerId).toSorted()).toEqual(['other', 'shop'])
})

test('a signed license is checked offline', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const signingKey = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const licenses = { issuer: 'https://shop.example', signingKey }
  const { admin, api, clock, get } = await serve(program(signedRoute), { licenses })
  clock.advance(Date.now() - clock.now())
  const check = program('import { createLocalJWKSet, jwtVerify }')
  const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example' }
  const { licenseKey } = await admin.createLicense(sold)
  const isValid = async (statement: string, host: string): Promise<unknown> => {
    const names = { statement, host, shippedKeys: api.licenseJwks(), createLocalJWKSet, jwtVerify }
    return run(check, names, 'valid').catch(() => 'no statement')
  }
  const { text: statement } = await get(`/license/${licenseKey}`)
  expect(await isValid(statement, 'SHOP.example')).toBe(true)
  expect(await isValid(statement, 'other.example')).toBe(false)
  expect(await isValid(statement.replace(/.{4}$/, 'AAAA'), 'shop.example')).toBe('no statement')
  await admin.updateLicense(licenseKey, { status: 'invalid' })
  expect(await isValid((await get(`/license/${licenseKey}`)).text, 'shop.example')).toBe(false)
  await admin.updateLicense(licenseKey, { status: 'valid', expiresAt: new Date(clock.now() - 1000) })
  expect(await isValid((await get(`/license/${licenseKey}`)).text, 'shop.example')).toBe('no statement')
  clock.advance(-8 * day)
  expect(await isValid((await get(`/license/${licenseKey}`)).text, 'shop.example')).toBe('no statement')
})

test('the check in PHP understands the route for signed licenses', async ({ skip }) => {
  skip(spawnSync(php, ['-r', 'exit(extension_loaded("sodium") ? 0 : 1);']).status !== 0, 'needs php-cli')
  const handler = program(
    "import type { ErrorRequestHandler } from 'express'\nimport { UtilityApiError } from 'utility-api'\n\nconst notSigned",
  )
  const licenses = { issuer: 'https://shop.example', signingKey: generateKeyPairSync('ed25519').privateKey }
  const { url, admin, api, clock } = await serve(`${program(signedRoute)}\n${handler}`, { licenses })
  clock.advance(Date.now() - clock.now())
  const folder = mkdtempSync(join(tmpdir(), 'license-route-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'license-keys.json'), JSON.stringify(api.licenseJwks()))
  const check = (key: string): Promise<string> => {
    const env = { ...process.env, LICENSE_SERVER: url, LICENSE_FOLDER: folder }
    return new Promise((resolve) => {
      execFile(php, ['examples/license-check/check.php', key, 'shop.example'], { env }, (_, stdout) =>
        resolve(stdout.trimEnd()),
      )
    })
  }
  const sold = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example' }
  const { licenseKey } = await admin.createLicense(sold)
  expect(await check(licenseKey)).toBe('valid')
  await admin.updateLicense(licenseKey, { expiresAt: new Date(clock.now() - 1000) })
  expect(await check(licenseKey)).toMatch(
    /^refused: the server last said: valid, for shop\.example, until 20/,
  )
  await admin.updateLicense(licenseKey, { status: 'invalid', expiresAt: null })
  expect(await check(licenseKey)).toMatch(/^refused: the server last said: invalid, for shop\.example/)
  await admin.deleteLicense(licenseKey)
  expect(await check(licenseKey)).toBe('refused: there is no such license')
  const { headers } = await fetch(`${url}/license/${licenseKey}`)
  expect(headers.get('Content-Type')).toBe('application/json; charset=utf-8')
  expect(existsSync(join(folder, 'license.jwt'))).toBe(false)
})

test('licenses of other systems are found by what the customer typed, or named as refused', async () => {
  const storage = memoryStorage()
  const { admin } = await serve('', { storage })
  const rows = oddRows(2000)
  const refusals = vi.spyOn(console, 'log').mockImplementation(() => {})
  onTestFinished(() => refusals.mockRestore())
  await run(`${program('import type { NewAdminLicense }')}\nawait move(rows)`, {
    admin,
    rows: rows.map(({ row }) => row),
  })
  const refused = refusals.mock.calls.map(([text]) =>
    String(text).replace(/ \(Customer \d+\) did not move: .*/, ''),
  )
  const isMissing = async ({ typed, row }: OddRow): Promise<boolean> => {
    const license = await admin.getLicense(typed)
    return refused.includes(row.licenseKey) === (license?.registeredTo === row.registeredTo)
  }
  const missing = []
  // oxlint-disable-next-line no-await-in-loop
  for (const each of rows) if (await isMissing(each)) missing.push(each.typed)
  expect(missing).toEqual([])
  expect(refused.length).toBeGreaterThan(0)
  expect(refused.length).toBeLessThan(rows.length / 2)
})
