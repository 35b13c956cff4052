// The node on which a role is played, for tests of that role alone.
import { Budget } from '../../buffers/budget.ts'
import { Link } from '../../buffers/link.ts'
import { RemoteBuffer, type RemoteBufferName } from '../../buffers/remote-buffer.ts'
import type { ControlMessage } from '../../overlay/control.ts'
import type { Host } from '../../overlay/host.ts'
import { compilePolicy } from '../../policies/compile.ts'
import { noPolicy } from '../../policies/policy.ts'

/** A host that remembers what is told, and buffers for it. */
export function aHost(id: string, changes: Partial<Host> = {}) {
  const messages: [string, ControlMessage][] = []
  const links = new Map<string, Link>()
  const linkTo = (peer: string) => {
    const link = links.get(peer) ?? new Link(peer)
    links.set(peer, link)
    return link
  }
  const host: Host = {
    id,
    now: () => 0,
    linkTo,
    tell: (peer, message) => void messages.push([peer, message]),
    handOver() {},
    route() {},
    nextHop: () => undefined,
    standIn: () => undefined,
    isLeaving: () => false,
    isAnnounced: () => true,
    isThere: () => true,
    compile: (spec) => (spec.levels.length === 0 ? noPolicy : compilePolicy(spec)),
    ...changes,
  }
  const buffer = (buffer: RemoteBufferName) =>
    new RemoteBuffer(
      { items: 100, bytes: 100_000 },
      { buffer, budget: new Budget(1_000_000), now: () => 0, random: () => 0 },
    )
  const told = (kind: ControlMessage['kind']) => messages.filter(([, message]) => message.kind === kind)
  return { host, messages, told, buffer, linkTo }
}
