import { tokensOf } from './arguments.ts'
import { command, UsageError, type AnyCommand, type Group } from './command.ts'
import { findCommand } from './find-command.ts'

// Each script asks the command itself which words fit. Without any, the shells offer files.
const scripts: Readonly<Record<string, string>> = {
  bash: `_utility_api() {
  local IFS=$'\\n'
  COMPREPLY=($(utility-api completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _utility_api utility-api`,
  zsh: `#compdef utility-api
_utility_api() {
  local -a fitting=(\${(f)"$(utility-api completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#fitting )); then compadd -- $fitting; else _files; fi
}
compdef _utility_api utility-api`,
  fish: `complete -c utility-api -f -a '(utility-api completion words -- (commandline -opc)[2..] (commandline -ct))'
complete -c utility-api -l database -r -F
complete -c utility-api -l storage -r -F
complete -c utility-api -l signing-key -r -F`,
}

export const completion: AnyCommand = command({
  args: {
    shell: { type: 'positional', values: Object.keys(scripts), description: 'bash, zsh or fish.' },
  },
  rest: true,
  notes: [
    'Put this line into .bashrc, or, after compinit, into .zshrc with "zsh": eval "$(utility-api completion bash)". For fish, write the script to ~/.config/fish/completions/utility-api.fish.',
  ],
  examples: ['completion bash', 'completion fish > ~/.config/fish/completions/utility-api.fish'],
  async run({ shell }, { words: [, ...typed], program }) {
    if (shell === 'words') return console.log((await fittingWords(program, typed)).join('\n'))
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
    if (script === undefined) throw new UsageError('SHELL must be one of bash, zsh, fish.')
    console.log(script)
  },
})

/** Returns the words that can stand in the place of the last one, which may be unfinished. */
async function fittingWords(program: Group, typed: readonly string[]): Promise<string[]> {
  const [last = '', previous = ''] = typed.toReversed()
  const fits = (word: string): boolean => word.startsWith(last)
  const isHelped = typed.length > 1 && typed[0] === 'help'
  const { command: found, rest } = await findCommand(program, typed.slice(isHelped ? 1 : 0, -1))
  if (found.commands !== undefined) return rest.length > 0 ? [] : Object.keys(found.commands).filter(fits)
  if (isHelped) return []
  const options = Object.entries(found.args ?? {}).filter(([, { type }]) => type !== 'positional')
  const [, def] = options.find(([name]) => previous === `--${name}`) ?? []
  if (def?.type === 'string') {
    const values = def.valueHint.includes('|') ? def.valueHint.split('|') : []
    return values.filter(fits)
  }
  const flags = [...options.map(([name]) => `--${name}`), '--help']
  if (last.startsWith('-')) return flags.filter((flag) => fits(flag) && !rest.includes(flag))
  return wordsOf(found, rest).filter(fits)
}

/** Returns what the next word of a command can be, after what was typed behind it. */
function wordsOf({ args = {}, rest = false }: AnyCommand, typed: readonly string[]): readonly string[] {
  const words = Object.values(args).filter((def) => def.type === 'positional')
  const given = tokensOf(args, typed).filter(({ kind }) => kind === 'positional')
  return (words[given.length] ?? (rest ? words.at(-1) : undefined))?.values ?? []
}
