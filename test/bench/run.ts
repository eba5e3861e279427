// npm run bench -- NAME: runs one benchmark on the built package.
import { readdirSync } from 'node:fs'

const names = readdirSync(import.meta.dirname)
  .filter((file) => /^[a-z]+\.ts$/.test(file) && file !== 'run.ts')
  .map((file) => file.slice(0, -'.ts'.length))
const name = process.argv[2] ?? ''
if (names.includes(name)) await import(new URL(`${name}.ts`, import.meta.url).href)
else console.log(`Name one of: ${names.join(', ')}.`)
