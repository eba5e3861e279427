/** Every statement of the contract, and every requirement of OAuth, has tests, and these exist, as security's do. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { contractStatements } from './contract-statements.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/decisions/contract-tests.md'), 'utf8')
const rows = page.split('\n## ').flatMap((part, index) => {
  const section = index === 0 ? '' : (/^.*/.exec(part)?.[0] ?? '')
  return [...part.matchAll(/^- (.*)\n {2}(.*)$/gm)].map(([, text = '', tests = '']) => ({
    section,
    text,
    tests,
  }))
})

test('the page has every statement of the contract, in order, and nothing else', () => {
  const listed = rows.map(({ section, text }) => ({ section, text: text.replace('](../', '](') }))
  expect(listed).toEqual(contractStatements())
})

test('only sentences about the page itself have no test', () => {
  const untested = rows.filter(({ tests }) => tests === '(about the page itself)')
  expect(untested.map(({ section }) => section)).toEqual(['', ''])
})

interface Named {
  readonly file: string
  readonly title: string
}

const named: Named[] = rows
  .flatMap(({ tests }) => tests.split('; `').map((each) => each.replace(/^`/, '')))
  .filter((each) => each !== '(about the page itself)')
  .map((each) => {
    const [file = '', title = ''] = each.split('`: ')
    return { file, title }
  })

const requirements = readFileSync(join(root, 'docs/decisions/oauth-requirements.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('- '))

test('every requirement of OAuth has a test or a decision', () => {
  expect(requirements.length).toBeGreaterThan(95)
  // A link that leads nowhere is found where all links are followed.
  expect(
    requirements.filter((line) => !/: (?:`\w+\/[\w/-]+`: .+|\[.+\]\([\w-]+\.md#.+\))$/.test(line)),
  ).toEqual([])
})

for (const line of requirements) {
  const [, file, title] = /: `(\w+\/[\w/-]+)`: (.+)$/.exec(line) ?? []
  if (file !== undefined && title !== undefined) named.push({ file, title })
}

test('each test that the page on security names is there', () => {
  const security = readFileSync(join(root, 'docs/decisions/security.md'), 'utf8')
  const files = [...security.matchAll(/`((?:[a-z]+\/[a-z/-]+(?:\.long)?)|settings)`/g)].map(
    ([, file]) => file,
  )
  expect(files.length).toBeGreaterThan(60)
  expect(files.filter((file) => !existsSync(join(root, `test/${file}.test.ts`)))).toEqual([])
})

test.each(named)('there is a test $file: $title', ({ file, title }) => {
  const folder = file.startsWith('examples/') ? root : join(root, 'test')
  const source = readFileSync(join(folder, `${file}.test.ts`), 'utf8')
  // A title is a text of the source, with what it varies written as `${…}`.
  const parts = title.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  expect(source).toMatch(new RegExp(`['"\`]${parts.join('\\$\\{[^}]*\\}')}['"\`]`))
})
