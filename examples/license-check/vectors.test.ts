/** The four programs decide each case of vectors.json alike. Node.js's has the functions of the library. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { callersOf } from '../../test/security/support/license-programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'license-vectors-'))
const vectors = readFileSync(join(import.meta.dirname, 'vectors.json'), 'utf8')
const { hosts } = JSON.parse(vectors) as { hosts: [licensed: string, host: string, covers: boolean][] }

afterAll(() => rmSync(folder, { recursive: true }))

// Each reads the vectors, and prints which of the hosts are covered.
const programs = {
  PHP: `$vectors = json_decode(stream_get_contents(STDIN), true);
echo json_encode(['hosts' => array_map(fn ($each) => covers($each[0], $each[1]), $vectors['hosts'])]);
`,
  Python: `import json
vectors = json.load(sys.stdin)
print(json.dumps({'hosts': [check.covers(each[0], each[1]) for each in vectors['hosts']]}))
`,
  Go: `package main
import ("encoding/json"; "os")
func main() {
	var vectors struct { Hosts [][4]any }
	if err := json.NewDecoder(os.Stdin).Decode(&vectors); err != nil { panic(err) }
	decided := map[string][]bool{}
	for _, each := range vectors.Hosts { decided["hosts"] = append(decided["hosts"], covers(each[0].(string), each[1].(string))) }
	json.NewEncoder(os.Stdout).Encode(decided)
}
`,
}

test.for(['PHP', 'Python', 'Go'] as const)('%s', { timeout: 300_000 }, (language, { skip }) => {
  const command = callersOf[language](folder, programs[language])
  if (command === null) console.warn(`${language}: skipped; README.md says what it needs.`)
  skip(command === null)
  const [program = '', ...args] = command ?? []
  const { stdout, stderr } = spawnSync(program, args, { input: vectors, encoding: 'utf8' })
  expect(stderr).toBe('')
  const decided = JSON.parse(stdout) as { hosts: boolean[] }
  const asDecided = hosts.map(([licensed, host], index) => [licensed, host, decided.hosts[index]])
  expect(asDecided).toEqual(hosts.map(([licensed, host, covers]) => [licensed, host, covers]))
})
