import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { program as commandLine } from '../../adapters/cli/commands.ts'
import { codeBlocks, type CodeBlock } from './code-blocks.ts'

// Code that readers copy: it must compile, and commands must exist.

const blocks = codeBlocks()
const root = join(import.meta.dirname, '../..')
const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => readFileSync(path, 'utf8')) as {
  config: { compilerOptions: object }
}
const options: ts.CompilerOptions = {
  ...ts.convertCompilerOptionsFromJson(config.compilerOptions, root).options,
  // An example may declare what it does not go on to use.
  noUnusedLocals: false,
  isolatedDeclarations: false,
  declaration: false,
}

test('every TypeScript block compiles', () => {
  const modules = blocks
    .filter(({ language }) => language === 'ts')
    .map((block) => ({ block, imports: new Set<string>() }))
  expect(modules.length).toBeGreaterThan(20)
  const missing = problems(modules).flatMap(({ module, name }) =>
    name === undefined ? [] : [{ module, name }],
  )
  for (const { module, name } of missing) module.imports.add(importOf(module.block, name))
  expect(problems(modules).map(({ text }) => text)).toEqual([])
}, 60_000)

interface Module {
  readonly block: CodeBlock
  readonly imports: Set<string>
}

interface Problem {
  readonly module: Module
  readonly text: string
  /** The name that is not declared, where that is what is wrong. */
  readonly name: string | undefined
}

/** Which entry has a name, by the list of agreed names. */
const entryOf = new Map(
  readFileSync(join(root, 'test/package/exported-names.txt'), 'utf8')
    .split('\n\n')
    .flatMap((part) => {
      const [entry = '', ...names] = part.trim().split(/\n +/)
      return names.map((name): [string, string] => [name, entry])
    }),
)

/**
 * The import that a block leaves out. The README is copied as it stands; elsewhere a reader has the page before the block, or
 * is looking at the very function.
 */
function importOf({ file }: CodeBlock, name: string): string {
  const entry = entryOf.get(name)
  return entry === undefined || file === 'README.md' ? '' : `import { ${name} } from '${entry}';`
}

/** Compiles blocks as the modules they are, in memory, with the settings of this package. */
function problems(modules: readonly Module[]): Problem[] {
  const files = new Map(modules.map((module, at) => [join(root, `test/docs/block-${at}.ts`), module]))
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => files.has(path) || fileExists(path)
  host.readFile = (path) => textOf(files.get(path)) ?? readFile(path)
  host.getSourceFile = (path, languageVersion, ...rest) => {
    const text = textOf(files.get(path))
    if (text === undefined) return getSourceFile(path, languageVersion, ...rest)
    return ts.createSourceFile(path, text, languageVersion)
  }
  const ambient = ['ambient.d.ts', 'ambient-modules.d.ts'].map((name) => join(root, 'test/docs', name))
  const program = ts.createProgram([...files.keys(), ...ambient], options, host)
  return [...files].flatMap(([path, module]) => {
    const source = program.getSourceFile(path)
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText, start = 0 }) => {
        const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) + module.block.line
        const message = ts.flattenDiagnosticMessageText(messageText, ' ')
        const name = /^Cannot find name '(\w+)'/.exec(message)?.[1]
        return { module, name, text: `${module.block.file}:${line} ${message}` }
      },
    )
  })
}

/** A block as a module; what is added stands below it, so that lines keep their numbers. */
function textOf(module: Module | undefined): string | undefined {
  return module && `${module.block.text}\nexport {};${[...module.imports].join('')}`
}

test('every block of code has its language', () => {
  expect(blocks.filter(({ language }) => language === '')).toEqual([])
})

test('every JSON block is JSON', () => {
  for (const { file, line, text } of blocks.filter(({ language }) => language === 'json')) {
    expect(() => JSON.parse(text), `${file}:${line}`).not.toThrow()
  }
})

test('every command in a shell block exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
  const lines = blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ file, text }) => text.split('\n').map((line) => ({ file, line })))
  for (const { file, line } of lines) {
    const script = /npm run ([\w:-]+)/.exec(line)?.[1]
    if (script !== undefined) expect(Object.keys(scripts), file).toContain(script)
    const command = /npx utility-api ([\w-]+)/.exec(line)?.[1]
    if (command !== undefined)
      expect(Object.keys(commandLine.commands), `${file}: ${line}`).toContain(command)
  }
})

test('every link to a file leads somewhere, and every anchor to a heading', () => {
  const broken = globSync(['*.md', 'llms.txt', '{docs,skills}/**/*.md'], { cwd: root })
    .filter((file) => !file.startsWith('docs/api/'))
    .flatMap((file) => {
      const links = [...proseOf(file).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
      return links.flatMap(([, target = '', anchor]) => {
        const path = target === '' ? file : join(dirname(file), target)
        const exists = existsSync(join(root, path))
        const isThere = exists && (anchor === undefined || anchorsOf(path).includes(anchor))
        return isThere ? [] : [`${file}: ${target}${anchor === undefined ? '' : `#${anchor}`}`]
      })
    })
  expect([...new Set(broken)]).toEqual([])

  function proseOf(file: string): string {
    return readFileSync(join(root, file), 'utf8').replaceAll(/^```[^]*?^```$/gm, '')
  }

  /** As GitHub makes them of headings. */
  function anchorsOf(file: string): string[] {
    return [...proseOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    )
  }
})
