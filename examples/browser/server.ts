// What the page needs: a node that listens for WebSockets, a sender on it, and a server of four files.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { build } from 'esbuild'
import { connect, createNode } from '../../index.ts'

const node = await createNode({ listen: ['/ip4/127.0.0.1/tcp/0/ws'] })
const client = await connect(node.addresses)
const pulse = client.sender('pulse', { PulseRate: 'number' })
/** Near 75, with a fit of fast pulse in five seconds of every fifteen. */
const read = () => ((Date.now() / 1_000) % 15 < 5 ? 118 : 75) + Math.round(12 * (Math.random() - 0.5))
const reading = setInterval(() => pulse.publish({ PulseRate: read() }), 20)

/** The library in one file; a project of yours has a bundler that does this. */
const entryPoints = [`${import.meta.dirname}/../../browser.ts`]
const bundle = await build({ entryPoints, bundle: true, format: 'esm', minify: true, write: false })
const file = (name: string) => readFile(`${import.meta.dirname}/${name}`)
const files = new Map<string | undefined, readonly [type: string, content: string | Uint8Array]>([
  ['/', ['text/html', await file('index.html')]],
  ['/page.js', ['text/javascript', await file('page.js')]],
  ['/spillway.js', ['text/javascript', bundle.outputFiles[0]!.contents]],
  ['/overlay.json', ['text/plain', JSON.stringify({ addresses: node.addresses, sender: pulse.id })]],
])
const server = createServer(({ url }, response) => {
  const [type, content] = files.get(url) ?? ['text/plain', 'there is no such file']
  response.setHeader('content-type', `${type}; charset=utf-8`).end(content)
}).listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
server.once('listening', () => console.log('Open', `http://localhost:${Object(server.address()).port}/`))

process.once('SIGINT', async () => {
  clearInterval(reading)
  server.close().closeAllConnections()
  await client.close()
  await node.close()
})
