import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** Whether there is a browser to test with; says so where there is none, as a skipped test says nothing. */
export function hasBrowser(): boolean {
  if (existsSync(executablePath)) return true
  console.warn(`Skipped: there is no Chromium at ${executablePath} (set CHROMIUM to one).`)
  return false
}

export function launchBrowser(): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ]
  return chromium.launch({ executablePath, args })
}
