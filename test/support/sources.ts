// `node --import` this file: `utility-api/...` then means the sources, as in the tests, and nothing need be built.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)
const { compilerOptions } = JSON.parse(readFileSync(new URL('tsconfig.json', root), 'utf8')) as {
  compilerOptions: { paths: Record<string, [string]> }
}

registerHooks({
  resolve(specifier, context, next) {
    const source = compilerOptions.paths[specifier]
    return source === undefined ? next(specifier, context) : next(new URL(source[0], root).href, context)
  },
})

// What is built is for Node 22 as well, which does not know `using`; the types alone it strips in a fraction of the time.
if (Number.parseInt(process.versions.node) < 24) {
  const { ModuleKind, ScriptTarget, transpileModule } = await import('typescript')
  const options = { module: ModuleKind.ESNext, target: ScriptTarget.ES2023, verbatimModuleSyntax: true }
  registerHooks({
    load(url, context, next) {
      if (!url.endsWith('.ts')) return next(url, context)
      const source = readFileSync(fileURLToPath(url), 'utf8')
      if (!/\busing\b/.test(source)) return next(url, context)
      const { outputText } = transpileModule(source, {
        compilerOptions: { ...options, inlineSourceMap: true },
      })
      return { format: 'module', source: outputText, shortCircuit: true }
    },
  })
}
