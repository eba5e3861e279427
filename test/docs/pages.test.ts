import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { expect, test } from 'vitest'
import { diagrams } from '../../docs/site/diagrams.ts'
import { operationPages } from '../../docs/site/operation-page.ts'
import { optionsOf, optionsPage, type Option } from '../../docs/site/options-page.ts'
import { code, table } from '../../docs/site/markdown.ts'
import { drawSequence } from '../../docs/site/sequence.ts'
import { createBlockgameClient, type ConnectionTarget } from 'utility-api/blockgame'
import { createUtilityApi, defaultResolverLocations, systemClock } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeBlockgameServer, type FakeBlockgameServerOptions } from 'utility-api/testing'
import { settingsOf } from '../../src/settings.ts'
import { hosts } from '../hosts/hosts.ts'

// Pages that are made from the code. To make them anew: npx vitest run --project short -u test/docs/pages.test.ts

const docs = join(import.meta.dirname, '../../docs')
const storage = memoryStorage()

async function formatted(markdown: string): Promise<string> {
  return format(markdown, { ...(await resolveConfig(join(docs, 'index.md'))), parser: 'markdown' })
}

const { openapi } = createUtilityApi({ storage, dns: { requiredScope: 'dns:check' } })

test.each([...operationPages(openapi())])('the page %s is made from the operation', async (file, page) => {
  await expect(await formatted(page)).toMatchFileSnapshot(join(docs, 'operations', file))
})

test.each(Object.entries(diagrams))('the picture %s is drawn', async (file, diagram) => {
  await expect(drawSequence(diagram)).toMatchFileSnapshot(join(docs, 'diagrams', file))
})

const aboutHosts =
  'The tests send the same requests through these lines. `serveApi` is `toNodeHandler(api)`; where a host keeps a prefix, set [`basePath`](#prefixes).'

test('the page on mounting lists the hosts that are tested, with the lines that are run', async () => {
  const squeezed = (text: string): string => text.replaceAll(/: Untyped|\s|,(?=\s*[)\]}])/g, '')
  const run = squeezed(readFileSync(join(import.meta.dirname, '../hosts/hosts.ts'), 'utf8'))
  const rows = hosts.map(({ name, line, trick, tested, start }) => {
    // As it is shown, and as it is run.
    if (start !== undefined) expect(run.split(squeezed(line)).length, name).toBeGreaterThan(2)
    return [name, code(line), tested === undefined ? trick : `${trick} Tested: ${tested}.`]
  })
  // Nest has a section of its own.
  const listed = rows.filter(([name]) => name?.startsWith('Nest') === false)
  const file = join(docs, 'guide/mounting.md')
  const page = readFileSync(file, 'utf8').replace(
    /(?<=\n## More servers and functions\n).*?(?=\n## )/s,
    `\n${aboutHosts}\n\n${table(['Host', 'Line', 'What to know'], listed)}\n`,
  )
  await expect(await formatted(page)).toMatchFileSnapshot(file)
})

test('every page is in the navigation, in the group of its job', () => {
  const site = readFileSync(join(docs, '../typedoc.json'), 'utf8')
  const decisions = readFileSync(join(docs, 'decisions/index.md'), 'utf8')
  for (const file of globSync('{guide,operations}/*.md', { cwd: docs })) {
    const [, group] = /^---\n.*\ngroup: (.*)\n/.exec(readFileSync(join(docs, file), 'utf8')) ?? []
    expect(site, file).toContain(`"docs/${file}"`)
    if (group !== 'none') expect(site, file).toContain(`    "${group}",\n`)
  }
  for (const file of globSync('decisions/!(index).md', { cwd: docs }))
    expect(decisions).toContain(`  - ./${basename(file)}\n`)
})

test('the options are made from the types', async () => {
  await expect(await formatted(optionsPage())).toMatchFileSnapshot(join(docs, 'guide/options.md'))
})

/** Options that hold others. */
const groups = new Set(['oauth', 'licenses', 'dns', 'blockgame'])
const settings = settingsOf({ storage })
const { clientOptions, ...blockgame } = settings.blockgame ?? {}
/** What is set where nothing is said, by the whole name. */
const real = new Map(entriesOf({ ...settings, blockgame: { ...blockgame, ...clientOptions } }))

function entriesOf(value: object, before = ''): [string, unknown][] {
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) =>
    groups.has(`${before}${name}`) ? entriesOf(each as object, `${name}.`) : [[`${before}${name}`, each]],
  )
}

const options = optionsOf('UtilityApiOptions')

test('every option that is understood stands in the table, and no other', () => {
  const listed = options.map(({ name }) => name).filter((name) => !groups.has(name))
  expect(new Set(listed).size).toBe(listed.length)
  for (const name of real.keys()) expect(listed).toContain(name)
  for (const name of listed) {
    const wrong = name.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), Symbol('wrong'))
    expect(() => settingsOf({ storage, ...(wrong as object) }), name).toThrow(`${name}: `)
    expect(() => settingsOf({ storage, ...(wrong as object) }), name).not.toThrow('is not an option')
  }
})

// The sentences that are no values, and what they mean.
const named: Readonly<Record<string, unknown>> = {
  systemClock,
  defaultResolverLocations: [...defaultResolverLocations],
  'false, nowhere': false,
}
const checkedBelow = new Set([
  'keyGenerator',
  'blockgame.allowAddress',
  'blockgame.fallbackProtocolVersion',
  'blockgame.protocolVersion',
  'blockgame.resolvers',
])

test.each(options.filter(({ name }) => !checkedBelow.has(name)))(
  'the default of $name is what the table says: $default',
  ({ name, default: said }: Option) => {
    const value = real.get(name)
    if (said === undefined) {
      expect([...groups, 'storage', 'blockgame.client']).toContain(name)
    } else if (said === 'none' || /^ours|^`\{/.test(said)) expect(value).toBeUndefined()
    else if (Object.hasOwn(named, plain(said))) expect(value).toEqual(named[plain(said)])
    else expect(value).toEqual(JSON.parse(plain(said).replaceAll("'", '"')))
  },
)

function plain(text: string): string {
  return text.replaceAll('`', '')
}

test('the defaults of the game client are what the table says', async () => {
  const said = new Map(options.map(({ name, default: standard = '' }) => [name, standard]))
  expect(said.get('keyGenerator')).toBe('`randomKeys()`')
  expect(settings.keyGenerator.licenseKey('LIC-')).toMatch(/^LIC-(?:\w{5}-){4}\w{5}$/)

  const asked: ConnectionTarget[] = []
  const hangUp: FakeBlockgameServerOptions['script'] = ({ socket }) =>
    void socket.once('data', () => socket.destroy())
  await using server = await fakeBlockgameServer({ script: hangUp })
  const client = createBlockgameClient({ allowAddress: (target) => asked.push(target) > 0 })
  await client.status({ host: server.ip, port: server.port }).catch(() => {})
  await client.close()
  expect(said.get('blockgame.protocolVersion')).toMatch(/^-1, /)
  expect(server.connections[0]?.handshake).toMatchObject({ protocolVersion: -1 })
  expect(said.get('blockgame.fallbackProtocolVersion')).toMatch(/^47, /)
  expect(server.connections[1]?.handshake).toMatchObject({ protocolVersion: 47 })

  expect(said.get('blockgame.allowAddress')).toBe('`isPublicAddress` and a port from 1024')
  const byDefault = createBlockgameClient()
  for (const target of [{ host: '127.0.0.1' }, { host: '203.0.114.1', port: 1023 }])
    await expect(byDefault.status(target)).rejects.toMatchObject({ code: 'address_not_allowed' })
  await byDefault.close()
})
