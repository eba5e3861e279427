import { expect, test } from 'vitest'
import { runHere } from '../support/cli-here.ts'

const words: Readonly<Record<string, { typed: string[]; fits: string[] }>> = {
  commands: { typed: ['lic'], fits: ['license'] },
  subcommands: { typed: ['client', 're'], fits: ['revoke'] },
  'all subcommands': { typed: ['reseller', ''], fits: ['list', 'create', 'token'] },
  'nothing after an unknown word': { typed: ['nonsense', ''], fits: [] },
  options: { typed: ['purge', '--d'], fits: ['--database'] },
  'options but those given': {
    typed: ['migrate', '--database', 'x.sqlite', '--'],
    fits: ['--storage', '--help'],
  },
  'values that are listed': { typed: ['serve', '--log', 'j'], fits: ['json'] },
  'no value that is not': { typed: ['serve', '--host', ''], fits: [] },
  'words that are listed': { typed: ['completion', ''], fits: ['bash', 'zsh', 'fish'] },
  'words that are listed, after an option with its value': {
    typed: ['dns', '--tcp', '--timeout', '5', 'a.example', 'DN'],
    fits: ['DNSKEY'],
  },
  'words that may follow': { typed: ['dns', 'a.example', 'MX', 'D'], fits: ['DS', 'DNSKEY'] },
  'no word that may be anything': { typed: ['ping', ''], fits: [] },
  'commands after help': { typed: ['help', 'lic'], fits: ['license'] },
  'subcommands after help': { typed: ['help', 'license', 's'], fits: ['set', 'sign'] },
  'nothing after a command after help': { typed: ['help', 'purge', '--'], fits: [] },
}

test.for(Object.entries(words))('completes %s', async ([, { typed, fits }]) => {
  const { code, stdout } = await runHere(['completion', 'words', '--', ...typed])
  expect({ code, lines: stdout.split('\n').filter((line) => line !== '') }).toEqual({ code: 0, lines: fits })
})

test('knows three shells', async () => {
  const { code, stderr } = await runHere(['completion', 'tcsh'])
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'SHELL must be one of bash, zsh, fish.\nFor help: utility-api completion --help\n',
  })
})
