// `npm run picture`: draws docs/terminal.svg anew from what the command prints.
import { writeFileSync } from 'node:fs'
import { drawPicture, pictureFile } from './terminal.ts'

writeFileSync(pictureFile, await drawPicture())
console.log(`Drawn: ${pictureFile}`)
