// Control messages of every kind, as fast-check makes them.
import fc from 'fast-check'
import type { Cursor } from '../../buffers/item.ts'
import type {
  ClassSpec,
  ControlMessage,
  NodeInfo,
  PollAnswer,
  RoutedMessage,
  SenderInfo,
  ToldCursor,
  Toward,
  WantToward,
} from '../../overlay/control.ts'
import type { PolicySpec } from '../../policies/policy.ts'
import { aCount, anId, aRecord, someTags } from './wire-frames.ts'

type Of<K extends ControlMessage['kind']> = Extract<ControlMessage, { kind: K }>
type RoutedOf<K extends RoutedMessage['kind']> = Extract<RoutedMessage, { kind: K }>

const kind = <K extends string>(kind: K) => fc.constant(kind)
const name = fc.string({ unit: 'binary', maxLength: 100 })
const ids = fc.array(anId, { maxLength: 5 })
const cursor = aRecord<Cursor>({ epoch: aCount, seq: aCount })
const policy = fc.constantFrom<PolicySpec>(
  { levels: [] },
  {
    attribute: 'a',
    summary: ['MEAN'],
    levels: [[{ name: 'INSET', values: ['é', 1] }], [{ name: 'LATEST', window: 1 }]],
  },
)
const toldCursor = aRecord<ToldCursor>(
  {
    toward: fc.constantFrom<Toward>('SP', 'SR', 'RR', 'RP', 'RC', 'SI'),
    sender: fc.oneof(
      anId,
      fc.tuple(anId, anId).map(([sid, rid]) => sid + rid),
    ),
    rid: anId,
    epoch: aCount,
    seq: aCount,
  },
  ['rid'],
)
const info = aRecord<SenderInfo>({ sid: anId, name, owner: anId, tags: someTags })
const classes = fc.array(aRecord<ClassSpec>({ hash: anId, policy }, ['policy']), { maxLength: 3 })
const wantToward = fc.constantFrom<WantToward>('SR', 'SP', 'SC')
const at = fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0)

const piece = fc
  .uint8Array({ minLength: 1, maxLength: 60 })
  .map((bytes) => Buffer.from(bytes).toString('base64'))
const waitMs = fc.nat(3_600_000)

type AnswerOf<K extends PollAnswer['kind']> = Extract<PollAnswer, { kind: K }>

/** An arbitrary for each kind of answer to a poll. */
export const answers: { readonly [K in PollAnswer['kind']]: fc.Arbitrary<AnswerOf<K>> } = {
  piece: aRecord<AnswerOf<'piece'>>({ kind: kind('piece'), index: fc.nat(31), items: piece }),
  items: aRecord<AnswerOf<'items'>>(
    {
      kind: kind('items'),
      index: fc.nat(31),
      items: piece,
      first: cursor,
      more: fc.boolean(),
      phaseAdjustmentMs: aCount,
      desynchronisationMs: waitMs,
    },
    ['items'],
  ),
  backlog: aRecord<AnswerOf<'backlog'>>({ kind: kind('backlog'), index: fc.nat(31), items: piece }, [
    'items',
  ]),
  unknown: aRecord<AnswerOf<'unknown'>>({ kind: kind('unknown') }),
  busy: aRecord<AnswerOf<'busy'>>({ kind: kind('busy'), retryAfterMs: waitMs }),
  denied: aRecord<AnswerOf<'denied'>>({ kind: kind('denied'), reason: name }),
}

/** An arbitrary for each kind that is routed. */
export const routed: { readonly [K in RoutedMessage['kind']]: fc.Arbitrary<RoutedOf<K>> } = {
  register: aRecord<RoutedOf<'register'>>(
    { kind: kind('register'), sid: anId, proxy: anId, generation: aCount, allow: ids },
    ['allow'],
  ),
  unregister: aRecord<RoutedOf<'unregister'>>({ kind: kind('unregister'), sid: anId, proxy: anId }),
  subscribe: aRecord<RoutedOf<'subscribe'>>(
    {
      kind: kind('subscribe'),
      sid: anId,
      rid: anId,
      proxy: anId,
      owner: anId,
      policy,
      generation: aCount,
      cursor,
      pending: fc.boolean(),
      away: fc.boolean(),
      backlog: fc.constant('digest-first'),
    },
    ['cursor', 'pending', 'away', 'backlog'],
  ),
  unsubscribe: aRecord<RoutedOf<'unsubscribe'>>(
    { kind: kind('unsubscribe'), sid: anId, rid: anId, proxy: anId, to: anId },
    ['to'],
  ),
  poll: aRecord<RoutedOf<'poll'>>(
    { kind: kind('poll'), request: aCount, sid: anId, owner: anId, path: ids, since: cursor },
    ['since'],
  ),
  recall: aRecord<RoutedOf<'recall'>>(
    {
      kind: kind('recall'),
      request: aCount,
      sid: anId,
      rid: anId,
      owner: anId,
      path: ids,
      since: cursor,
      preview: fc.boolean(),
    },
    ['since', 'preview'],
  ),
}

/** An arbitrary for each kind. */
export const messages: { readonly [K in ControlMessage['kind']]: fc.Arbitrary<Of<K>> } = {
  open: aRecord<Of<'open'>>(
    {
      kind: kind('open'),
      sid: anId,
      name,
      tags: someTags,
      epoch: aCount,
      next: aCount,
      generation: aCount,
      allow: ids,
    },
    ['allow'],
  ),
  opened: aRecord<Of<'opened'>>({ kind: kind('opened'), sid: anId }),
  close: aRecord<Of<'close'>>({ kind: kind('close'), sid: anId }),
  subscribe: aRecord<Of<'subscribe'>>(
    {
      kind: kind('subscribe'),
      sid: anId,
      rid: anId,
      name,
      policy,
      generation: aCount,
      cursor,
      backlog: fc.constant('digest-first'),
    },
    ['cursor', 'backlog'],
  ),
  unsubscribe: aRecord<Of<'unsubscribe'>>({ kind: kind('unsubscribe'), sid: anId, rid: anId }),
  detach: aRecord<Of<'detach'>>({ kind: kind('detach'), generation: aCount }),
  others: aRecord<Of<'others'>>(
    {
      kind: kind('others'),
      load: fc.constantFrom(0, 0.5, 1),
      nodes: fc.array(
        aRecord<NodeInfo>({ id: anId, addresses: fc.array(name, { maxLength: 3 }), load: fc.constant(0.25) }),
        { maxLength: 3 },
      ),
      move: fc.boolean(),
    },
    ['move'],
  ),
  suspend: aRecord<Of<'suspend'>>({ kind: kind('suspend'), sid: anId, rid: anId, generation: aCount }),
  mirror: aRecord<Of<'mirror'>>(
    {
      kind: kind('mirror'),
      sid: anId,
      rid: anId,
      proxy: anId,
      owner: anId,
      policy,
      generation: aCount,
      cursor,
      first: cursor,
    },
    ['cursor', 'first'],
  ),
  unmirror: aRecord<Of<'unmirror'>>({ kind: kind('unmirror'), sid: anId, rid: anId }),
  leave: aRecord<Of<'leave'>>({ kind: kind('leave') }),
  collect: aRecord<Of<'collect'>>(
    { kind: kind('collect'), sid: anId, rid: anId, to: anId, generation: aCount, cursor, first: cursor },
    ['cursor', 'first'],
  ),
  collected: aRecord<Of<'collected'>>({ kind: kind('collected'), sid: anId, rid: anId, generation: aCount }),
  finish: aRecord<Of<'finish'>>({ kind: kind('finish'), sid: anId, generation: aCount }),
  finished: aRecord<Of<'finished'>>({ kind: kind('finished'), sid: anId, generation: aCount }),
  subscribed: aRecord<Of<'subscribed'>>({ kind: kind('subscribed'), sid: anId, rid: anId, first: cursor }, [
    'first',
  ]),
  refused: aRecord<Of<'refused'>>(
    { kind: kind('refused'), sid: anId, rid: anId, reason: name, generation: aCount, newest: aCount },
    ['rid', 'generation', 'newest'],
  ),
  list: aRecord<Of<'list'>>({ kind: kind('list'), request: aCount }),
  senders: aRecord<Of<'senders'>>({
    kind: kind('senders'),
    request: aCount,
    senders: fc.array(info, { maxLength: 3 }),
    last: fc.boolean(),
  }),
  poll: aRecord<Of<'poll'>>({ kind: kind('poll'), request: aCount, sid: anId, since: cursor }, ['since']),
  recall: aRecord<Of<'recall'>>(
    { kind: kind('recall'), request: aCount, sid: anId, rid: anId, since: cursor, preview: fc.boolean() },
    ['since', 'preview'],
  ),
  polled: aRecord<Of<'polled'>>({
    kind: kind('polled'),
    request: aCount,
    path: ids,
    answer: fc.oneof(...(Object.values(answers) as fc.Arbitrary<PollAnswer>[])),
  }),
  route: aRecord<Of<'route'>>({
    kind: kind('route'),
    key: anId,
    hops: fc.nat(64),
    origin: anId,
    message: fc.oneof(...(Object.values(routed) as fc.Arbitrary<RoutedMessage>[])),
  }),
  rooted: aRecord<Of<'rooted'>>({ kind: kind('rooted'), key: anId }),
  want: aRecord<Of<'want'>>(
    {
      kind: kind('want'),
      toward: wantToward,
      sid: anId,
      classes,
      all: fc.boolean(),
      noRedirect: fc.boolean(),
    },
    ['all', 'noRedirect'],
  ),
  granted: aRecord<Of<'granted'>>(
    {
      kind: kind('granted'),
      sid: anId,
      hashes: ids,
      first: cursor,
      ancestors: ids,
      allow: ids,
      provisional: fc.boolean(),
    },
    ['first', 'allow', 'provisional'],
  ),
  unwant: aRecord<Of<'unwant'>>({ kind: kind('unwant'), toward: wantToward, sid: anId, hashes: ids }),
  denied: aRecord<Of<'denied'>>({ kind: kind('denied'), sid: anId, hashes: ids, reason: name }),
  redirect: aRecord<Of<'redirect'>>({ kind: kind('redirect'), sid: anId, to: anId }),
  ack: aRecord<Of<'ack'>>({ kind: kind('ack'), number: aCount }),
  ping: aRecord<Of<'ping'>>({ kind: kind('ping'), at }),
  pong: aRecord<Of<'pong'>>({ kind: kind('pong'), at }),
  resume: aRecord<Of<'resume'>>({
    kind: kind('resume'),
    cursors: fc.array(toldCursor, { maxLength: 5 }),
    last: fc.boolean(),
  }),
}
