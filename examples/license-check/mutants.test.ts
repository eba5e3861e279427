/** What the programs verify with (sodium, PyJWT, Go's ed25519) accepts no altered statement. Node.js's jose has a test of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { callersOf } from '../../test/security/support/license-programs.ts'
import { signingWorld, startTime } from '../../test/security/support/signing-world.ts'
import { mutantsOf } from '../../test/security/support/statement-mutants.ts'

const folder = mkdtempSync(join(tmpdir(), 'license-mutants-'))
const amount = Number(process.env['LICENSE_MUTANTS'] ?? 4000)

afterAll(() => rmSync(folder, { recursive: true }))

// Each takes the file of keys, reads statements in base64, one a line, and prints how many it accepts and has read.
const programs = {
  PHP: `$keys = json_decode(file_get_contents($argv[1]), true)['keys'];
[$accepted, $read] = [0, 0];
while (($line = fgets(STDIN)) !== false) {
    $read++;
    if (is_array(verified(base64_decode(trim($line)), $keys))) $accepted++;
}
echo "$accepted $read";
`,
  Python: `import base64, json, jwt
keys = {key['kid']: jwt.PyJWK(key).key for key in json.load(open(sys.argv[1]))['keys']}
accepted = read = 0
for line in sys.stdin:
    read += 1
    accepted += isinstance(check.verified(base64.b64decode(line).decode('latin1'), keys), dict)
print(accepted, read, end='')
`,
  Go: `package main
import ("bufio"; "encoding/base64"; "fmt"; "os")
func main() {
	keys := shippedKeys(os.Args[1])
	accepted, read := 0, 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); read++ {
		statement, _ := base64.StdEncoding.DecodeString(lines.Text())
		if said, _ := verified(string(statement), keys); said != nil { accepted++ }
	}
	fmt.Print(accepted, " ", read)
}
`,
}

test.for(['PHP', 'Python', 'Go'] as const)(
  '%s accepts no altered statement',
  { timeout: 1_800_000 },
  async (language, { skip }) => {
    const command = callersOf[language](folder, programs[language])
    if (command === null) console.warn(`${language}: skipped; README.md says what it needs.`)
    skip(command === null)
    const { api, clock, license } = signingWorld()
    clock.advance(Date.now() - startTime)
    const options = { lifetimeSeconds: 86_400, audience: 'shop-plugin' }
    const statement = await api.signLicense(await license('Ada', 'shop.example'), options)
    const others = [await api.signLicense(await license('Grace', 'other.example', 'invalid'), options)]
    const mutants = mutantsOf(statement, others)
    const keys = join(folder, 'license-keys.json')
    writeFileSync(keys, JSON.stringify(api.licenseJwks()))

    const [program = '', ...args] = command ?? []
    const child = spawn(program, [...args, keys], { stdio: ['pipe', 'pipe', 'inherit'] })
    let printed = ''
    child.stdout.on('data', (chunk) => (printed += String(chunk)))
    const ended = once(child, 'close')
    const send = async (statements: readonly string[]): Promise<void> => {
      const lines = statements.map((each) => `${Buffer.from(each).toString('base64')}\n`).join('')
      if (!child.stdin.write(lines)) await once(child.stdin, 'drain')
    }
    await send([statement, ...others])
    for (let sent = 0; sent < amount; sent += 1000) {
      await send(Array.from({ length: Math.min(1000, amount - sent) }, () => mutants.next()))
    }
    child.stdin.end()
    await ended
    // The two genuine ones, and no more.
    expect(printed).toBe(`2 ${amount + 2}`)
  },
)
