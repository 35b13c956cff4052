// The public entry of Spillway: policies (what may be lost) and buffers (where it is lost, with a receipt).
export { type Block, BlockWriter, positionOf, type Run } from './buffers/block.ts'
export { Budget } from './buffers/budget.ts'
export { BodyWriter, type Schema } from './buffers/codec.ts'
export type { Cursor, Item, Marker } from './buffers/item.ts'
export { type Batch, Link, type Told } from './buffers/link.ts'
export { LocalBuffer } from './buffers/local-buffer.ts'
export { PrivateQueue } from './buffers/private-queue.ts'
export { Queue, type QueueBounds, type QueueSurroundings, type Taken } from './buffers/queue.ts'
export { type EpochReceipt, type Gap, type OverlappingDigest, Receipt } from './buffers/receipt.ts'
export { RemoteBuffer, type RemoteBufferName } from './buffers/remote-buffer.ts'
export { type PolicyClass, type Sent, Slot } from './buffers/slot.ts'
export type { AttributeType, Declaration, EventOf } from './endpoints/attributes.ts'
export {
  type AttachOptions,
  Client,
  type ConnectOptions,
  type SenderOptions,
  type SubscribeOptions,
} from './endpoints/client.ts'
export type { Delivered, DeliveredDigest, DeliveredEvent, DeliveredGap, Pack } from './endpoints/delivery.ts'
export { connect } from './endpoints/machine.ts'
export { createNode, type Node, type NodeOptions } from './endpoints/node.ts'
export type { ActiveControlLevel, ActiveControlOptions } from './endpoints/pull/active-control.ts'
export type { BestOptions } from './endpoints/pull/best.ts'
export {
  type CrawlMethod,
  type CrawlProblem,
  type CrawlSolution,
  type Sensor,
  solveCrawl,
} from './endpoints/pull/crawl-budget.ts'
export type { Window } from './endpoints/pull/crawl-timeline.ts'
export type { DptOptions, DptVariant } from './endpoints/pull/dpt.ts'
export type { CrawledSensor, EasiCrawl, EasiCrawlOptions } from './endpoints/pull/easicrawl.ts'
export type { FeedItem } from './endpoints/pull/feed.ts'
export { type HttpCursor, type HttpSourceOptions, httpSource } from './endpoints/pull/http-source.ts'
export type { Mdpt, MdptOptions, RepublishingSchedule } from './endpoints/pull/mdpt.ts'
export type { PullClock } from './endpoints/pull/poller.ts'
export {
  type FittedModel,
  fitModel,
  generateTrace,
  type PublishingModel,
} from './endpoints/pull/publishing-model.ts'
export {
  Pull,
  type PullCounts,
  type PulledRound,
  type PullOptions,
  type PullTogetherOptions,
  type PullTrouble,
  pull,
  pullTogether,
} from './endpoints/pull/pull.ts'
export { type Figures, figuresOf, type Replayed, replay } from './endpoints/pull/replay.ts'
export type { Chance, Hit, Miss, MultiSchedule, Outcome, Round, Schedule } from './endpoints/pull/schedule.ts'
export {
  activeControl,
  best,
  crawlPlan,
  dpt,
  easiCrawl,
  fixedInterval,
  mdpt,
} from './endpoints/pull/schedules.ts'
export { SenderPull } from './endpoints/pull/sender-pull.ts'
export { alwaysAwake, knownSleep, LearntSleep, type SleepPlan } from './endpoints/pull/sleep-plan.ts'
export type { Answer, Overloaded, Source } from './endpoints/pull/source.ts'
export { Sender } from './endpoints/sender.ts'
export { type Handlers, Subscription } from './endpoints/subscription.ts'
export type { AttachmentState } from './mobility/listeners.ts'
export type { SenderInfo } from './overlay/control.ts'
export { seeded } from './policies/chance.ts'
export { type CompileOptions, compilePolicy, PolicyError, policyLimits } from './policies/compile.ts'
export { type DecodedEvent, DecodedEvents } from './policies/decoded.ts'
export { type Cause, countOf, type Digest, type ShownDigest } from './policies/digest.ts'
export { type DigesterDefinition, defineDigester, type Shown, type State } from './policies/digester.ts'
export { type ErrorCode, SpillwayError } from './policies/error.ts'
export type { Attributes, Events, Scalar, Value } from './policies/event.ts'
export {
  defineFilter,
  type FilterDefinition,
  type Operand,
  type Parameter,
  type Parameters,
  type ParameterType,
  type ParameterTypes,
  type Select,
  type Surroundings,
  type Values,
} from './policies/filter.ts'
export { Ladder } from './policies/ladder.ts'
export { type Packed, Packing, type PackSurroundings, type Pass, type Riding } from './policies/pack.ts'
export { type PackOptions, pack } from './policies/pack-events.ts'
export {
  type CompiledDigester,
  type CompiledFilter,
  type DigesterSpec,
  type FilterSpec,
  type Mode,
  noPolicy,
  Policy,
  type PolicySpec,
} from './policies/policy.ts'
export { type PresetName, presetPolicy, presets } from './policies/presets.ts'
export { printPolicy } from './policies/print.ts'
export { Repository } from './policies/repository.ts'
export { type ParseOptions, parsePolicy } from './policies/xml.ts'
