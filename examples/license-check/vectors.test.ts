/** The four programs decide each case of vectors.json alike. For hosts, Node.js's has the library's function. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { callersOf } from '../../test/security/support/license-programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'license-vectors-'))
const source = readFileSync(join(import.meta.dirname, 'vectors.json'), 'utf8')
const vectors = JSON.parse(source) as {
  hosts: [licensed: string, host: string, covers: boolean, why: string][]
  key: string
  typed: [text: string, isKey: boolean, why: string][]
}

afterAll(() => rmSync(folder, { recursive: true }))

// Each reads the vectors, and prints which of the hosts are covered and which of the texts mean the key.
const programs = {
  PHP: `$vectors = json_decode(stream_get_contents(STDIN), true);
echo json_encode([
    'hosts' => array_map(fn ($each) => covers($each[0], $each[1]), $vectors['hosts']),
    'typed' => array_map(fn ($each) => folded($each[0]) === folded($vectors['key']), $vectors['typed']),
]);
`,
  Python: `import json
vectors = json.load(sys.stdin)
print(json.dumps({
    'hosts': [check.covers(each[0], each[1]) for each in vectors['hosts']],
    'typed': [check.folded(each[0]) == check.folded(vectors['key']) for each in vectors['typed']],
}))
`,
  Go: `package main
import ("encoding/json"; "os")
func main() {
	var vectors struct { Hosts [][4]any; Key string; Typed [][3]any }
	if err := json.NewDecoder(os.Stdin).Decode(&vectors); err != nil { panic(err) }
	var hosts, typed []bool
	for _, each := range vectors.Hosts { hosts = append(hosts, covers(each[0].(string), each[1].(string))) }
	for _, each := range vectors.Typed { typed = append(typed, folded(each[0].(string)) == folded(vectors.Key)) }
	json.NewEncoder(os.Stdout).Encode(map[string][]bool{"hosts": hosts, "typed": typed})
}
`,
}

const languages = ['PHP', 'Python', 'Go'] as const

test.for(languages)('%s decides as the library does', { timeout: 300_000 }, (language, { skip }) => {
  const command = callersOf[language](folder, programs[language])
  if (command === null) console.warn(`${language}: skipped; README.md says what it needs.`)
  skip(command === null)
  const [program = '', ...args] = command ?? []
  const { stdout, stderr } = spawnSync(program, args, { input: source, encoding: 'utf8' })
  expect(stderr).toBe('')
  const decided = JSON.parse(stdout) as { hosts: boolean[]; typed: boolean[] }
  const hosts = vectors.hosts.map(([licensed, host, , why], at) => [licensed, host, decided.hosts[at], why])
  expect(hosts).toEqual(vectors.hosts)
  const typed = vectors.typed.map(([text, , why], at) => [text, decided.typed[at], why])
  expect(typed).toEqual(vectors.typed)
})

test('Node.js folds keys as the library does', async () => {
  const check = readFileSync(join(import.meta.dirname, 'check.ts'), 'utf8')
  const [text = ''] = /^function folded[^]*?\n}\n/m.exec(check) ?? []
  writeFileSync(join(folder, 'folded.ts'), `export ${text}`)
  const { folded } = (await import(join(folder, 'folded.ts'))) as { folded: (licenseKey: string) => string }
  const typed = vectors.typed.map(([each, , why]) => [each, folded(each) === folded(vectors.key), why])
  expect(typed).toEqual(vectors.typed)
})
