// A real browser, where the machine has one.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
/** Nothing that would ask for the world outside. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Where Chromium is; undefined where there is none. */
export const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .find((path) => existsSync(path))

if (executablePath === undefined)
  console.log('Tests in a browser are skipped: there is no Chromium on this machine.')

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, headless: true, args: FLAGS })
}
