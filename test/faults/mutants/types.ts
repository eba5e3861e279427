import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import ts from 'typescript'

/** Tells whether a file of the library still compiles with another text. Each export states its type, so no other file can tell. */
export function typeChecker(): (file: string, text: string) => boolean {
  const { config } = ts.readConfigFile('tsconfig.json', (path) => readFileSync(path, 'utf8')) as {
    config: object
  }
  const include = ['src', 'adapters']
  const { options, fileNames } = ts.parseJsonConfigFileContent({ ...config, include }, ts.sys, process.cwd())
  let changed = { path: '', text: '', version: 0 }
  const service = ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    getCompilationSettings: () => options,
    getScriptFileNames: () => fileNames,
    getScriptVersion: (path) => (path === changed.path ? `${changed.version}` : '0'),
    getScriptSnapshot: (path) => {
      const source = path === changed.path ? changed.text : ts.sys.readFile(path)
      return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source)
    },
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: (its) => ts.getDefaultLibFilePath(its),
  })
  return (file, text) => {
    changed = { path: resolve(file), text, version: changed.version + 1 }
    return [
      service.getSyntacticDiagnostics(changed.path),
      service.getSemanticDiagnostics(changed.path),
    ].every((problems) => problems.length === 0)
  }
}
