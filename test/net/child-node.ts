// A node in a process of its own: prints its address, echoes, and stops when its input ends.
import { createTransport } from '../../overlay/libp2p/machine.ts'
import type { TransportSurroundings } from '../../overlay/libp2p/transport.ts'
import type { Core } from '../../overlay/surroundings.ts'

const transport = await createTransport({
  kind: 'node',
  listen: ['/ip4/127.0.0.1/tcp/0'],
  join: process.argv.slice(2),
  makeCore: (surroundings: TransportSurroundings): Core => ({
    connected() {},
    disconnected() {},
    received: (peer, stream, frame) => surroundings.send(peer, stream, frame),
  }),
})
process.stdout.write(`${JSON.stringify({ id: transport.id, address: transport.addresses[0] })}\n`)
process.stdin.resume()
process.stdin.once('end', () => void transport.stop())
