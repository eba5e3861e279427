import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { code, table } from './markdown.ts'

// The page of all options, out of the types and the sentences beside them.

/** An option as it is read about. */
export interface Option {
  /** Its whole name, such as `dns.timeoutMs`. */
  readonly name: string
  /** What its comment says behind `Default:`, without the final dot. */
  readonly default: string | undefined
  readonly meaning: string
}

const files = [
  'src/options.ts',
  'src/blockgame.ts',
  'adapters/http/mount-options.ts',
  'adapters/http/express.ts',
  'adapters/storage/sqlite.ts',
]

const declarations = new Map(
  files.flatMap((file) =>
    ts
      .createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
      .statements.filter(
        (statement) => ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement),
      )
      .map((declaration) => [declaration.name.text, declaration] as const),
  ),
)

/** The options of an interface, those of the interfaces it names behind a dot. */
export function optionsOf(typeName: string, before = ''): Option[] {
  return membersOf(typeName).flatMap((member) => {
    const name = `${before}${member.name.getText()}`
    const type = member.type?.getText().replaceAll(/\s+/g, ' ') ?? ''
    const nested = type.split(' | ').find((part) => part.endsWith('Options') && declarations.has(part))
    return [optionOf(member, name), ...(nested === undefined ? [] : optionsOf(nested, `${name}.`))]
  })
}

function membersOf(typeName: string): ts.PropertySignature[] {
  const declaration = declarations.get(typeName)
  if (declaration === undefined) throw new Error(`No type is named ${typeName}.`)
  if (ts.isTypeAliasDeclaration(declaration)) return membersIn(declaration.type)
  const inherited =
    declaration.heritageClauses?.flatMap(({ types }) => types.map((type) => type.expression.getText())) ?? []
  return [...inherited.flatMap(membersOf), ...declaration.members.filter(ts.isPropertySignature)]
}

/** Those of every part of a union or an intersection that can be given: what has the type `never` cannot. */
function membersIn(type: ts.TypeNode): ts.PropertySignature[] {
  if (ts.isTypeReferenceNode(type)) return membersOf(type.getText())
  if (ts.isTypeLiteralNode(type)) return type.members.filter(ts.isPropertySignature).filter(canBeGiven)
  if (ts.isMappedTypeNode(type) && type.type?.kind === ts.SyntaxKind.NeverKeyword) return []
  if (ts.isParenthesizedTypeNode(type)) return membersIn(type.type)
  if (ts.isUnionTypeNode(type) || ts.isIntersectionTypeNode(type)) return type.types.flatMap(membersIn)
  throw new Error(`Options cannot be read from ${type.getText()}.`)
}

function canBeGiven({ type }: ts.PropertySignature): boolean {
  return type?.kind !== ts.SyntaxKind.NeverKeyword
}

function optionOf(member: ts.PropertySignature, name: string): Option {
  const text = ts
    .getJSDocCommentsAndTags(member)
    .map((comment) => ts.getTextOfJSDocComment(comment.comment) ?? '')
    .join(' ')
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ')
  const [meaning = '', standard] = text.split(/ ?Default: /)
  return { name, meaning, default: standard?.replace(/\.$/, '') }
}

const parts = [
  ['Options of createUtilityApi', 'UtilityApiOptions'],
  ['Options of every mount', 'MountOptions'],
  ['Options of toExpressHandler', 'ExpressMountOptions'],
  ['Options of sqliteStorage', 'SqliteStorageOptions'],
  ['Options of createAdmin', 'AdminOptions'],
] as const

export function optionsPage(): string {
  return `---
title: Options
group: Start
---

<!-- Made by docs/site/options-page.ts from the types and their comments. -->

# Options

Each option is listed once, where it first appears. \`toExpressHandler\` also takes the options of every mount, and \`createAdmin\` also \`clock\` and the \`licenses\` of \`createUtilityApi\`. Options of a [DNS](dns.md) or [game](blockgame.md) client that you create yourself are not listed, nor is \`randomKeys({ timeOrdered: false })\`, for a database that splits rows by ranges of keys.

Names that end in \`Ms\` are in milliseconds, those in \`Seconds\` in seconds. An invalid or unknown option throws [an error that names it](errors.md#what-your-program-sees).

${tables().join('\n\n')}
`
}

function tables(): string[] {
  const listed = new Set<string>()
  return parts.map(([title, type]) => {
    const added = optionsOf(type).filter((option) => !listed.has(JSON.stringify(option)))
    for (const option of added) listed.add(JSON.stringify(option))
    return `## ${title}\n\n${optionTable(added)}`
  })
}

function optionTable(options: readonly Option[]): string {
  return table(
    ['Option', 'Default', 'Meaning'],
    options.map(({ name, default: standard, meaning }) => [
      code(name),
      standard ?? (name === 'storage' ? 'required' : ''),
      meaning,
    ]),
  )
}
