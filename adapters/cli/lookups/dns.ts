import { command, type AnyCommand } from '../terminal/command.ts'
import { jsonOption } from '../terminal/output.ts'

export const dns: AnyCommand = command({
  args: {
    name: { type: 'positional', required: true, description: 'Any domain name, or an IP address.' },
    type: {
      type: 'positional',
      default: 'A',
      description: 'Record type: A, AAAA, MX, TXT, …; more may follow, and @SERVER. Of an address: PTR.',
    },
    server: {
      type: 'string',
      mayRepeat: true,
      valueHint: '[LABEL=]IP[:PORT],…',
      description: 'Resolvers to ask instead of the public ones.',
    },
    authority: { type: 'boolean', description: "Ask the zone's own name servers as well." },
    expect: {
      type: 'string',
      mayRepeat: true,
      valueHint: 'RECORD',
      description: 'A record that you expect, such as "10 mail.example.com"; name all of them, or none.',
    },
    contains: {
      type: 'string',
      mayRepeat: true,
      valueHint: 'RECORD',
      description: 'A record that you expect among others, such as one TXT record of several.',
    },
    watch: {
      type: 'boolean',
      description: 'Repeat the check until the expected records have arrived, or all agree on something new.',
    },
    interval: {
      type: 'string',
      default: '10',
      valueHint: 'SECONDS',
      description: 'How long --watch waits between checks; at most 3600.',
    },
    for: {
      type: 'string',
      valueHint: 'TIME',
      description: 'How long --watch goes on: seconds, or 12h, 2d; at most 365d. Default: until it is over.',
    },
    timeout: {
      type: 'string',
      default: '5',
      valueHint: 'SECONDS',
      description: 'How long a check waits for answers; at most 60.',
    },
    tcp: { type: 'boolean', description: 'Ask over TCP.' },
    subnet: {
      type: 'string',
      valueHint: 'NETWORK',
      description: 'Ask on behalf of a network, such as 192.0.2.0/24.',
    },
    ...jsonOption,
  },
  rest: true,
  notes: [
    'Exit code: 0 if all answers have the same records, 1 if no resolver answered, 3 if they differ, 4 if some have the record and others do not, 5 if all agree that there is none; with several types, the first of 1, 3, 4, 0 and 5 that applies to one of them. With --expect or --contains: 0 if the records have arrived everywhere and no failure or old copy is in the way, 1 if no resolver answered, 3 if they have arrived nowhere, 4 if only at some resolvers. 6 if a watch was not over in the time of --for.',
  ],
  examples: [
    'dns example.com',
    'dns example.com A AAAA MX --json',
    'dns example.com --expect 192.0.2.80 --watch --authority',
    'dns example.com MX --expect "10 mx1.example.com" --expect "20 mx2.example.com"',
    'dns old.example.com --expect none',
    'dns 192.0.2.1 --server "office=192.0.2.53,lab=[2001:db8::53]:5353"',
  ],
  async run(values, { words }) {
    const { lookUp } = await import('./dns-look-up.ts')
    await lookUp(values, words)
  },
})
