// `node --import` this file: `utility-api/...` then means the sources, as in the tests, and nothing need be built.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

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
