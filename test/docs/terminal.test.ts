import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { drawPicture, pictureFile } from './terminal.ts'

test('the picture of a terminal is what the command prints; if not: npm run picture', async () => {
  const drawn = await drawPicture()
  expect(readFileSync(pictureFile, 'utf8')).toBe(drawn)
  // A picture in a README may load nothing.
  expect(drawn.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|@import|<script|<image/)
})
