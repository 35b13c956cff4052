#!/usr/bin/env node
// The `spillway` command. Node strips no types under node_modules, so an installed package runs its build;
// a checkout runs its sources, where a stale build could mislead. It must parse on every old Node.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 12)) {
  stop(`spillway needs Node 22.12 or newer; this is Node ${process.versions.node} (${process.execPath})`)
}

const here = fileURLToPath(import.meta.url)
const installed = /[\\/]node_modules[\\/]/.test(here)
const sources = new URL('main.ts', import.meta.url)
const build = new URL('../dist/cli/main.js', import.meta.url)

module.enableCompileCache?.()
const { main } = await import(entry().href)
process.exitCode = await main(process.argv.slice(2), process)

function entry() {
  const runsTypes = Boolean(process.features.typescript)
  if (!installed && runsTypes && existsSync(sources)) return sources
  if (existsSync(build)) return build
  return stop(
    runsTypes
      ? 'spillway: there is no build; make it with: npm run build'
      : `spillway: Node ${process.versions.node} does not run TypeScript; build first (npm run build) or use Node 24`,
  )
}

function stop(message) {
  console.error(message)
  process.exit(1)
}
