// The generated campus, running: its access points answer over HTTP, and its lines go into the source.
import { AccessPoints } from '../access-points.ts'
import type { Source } from '../source.ts'
import { AccessPointServer } from './access-point-server.ts'
import { Campus } from './campus.ts'
import { drive } from './drive.ts'
import type { Ground } from './ground.ts'

export interface GeneratedOptions {
  /** How many times as fast as real time. */
  readonly speed: number
  /** How many times as fast as those of the paper its access points answer: 1 is up to 30 s. */
  readonly answers?: number
  readonly stations?: number
  readonly seed?: number
  /** When it begins; today, some time before lunch, unless given. */
  readonly start?: number
}

const BEGINS_AT_HOUR = 11

export class GeneratedCampus {
  readonly aps: AccessPoints
  readonly speed: number
  readonly #campus: Campus
  readonly #server: AccessPointServer

  #stopDriving = () => {}

  private constructor(campus: Campus, server: AccessPointServer, speed: number) {
    this.#campus = campus
    this.#server = server
    this.speed = speed
    this.aps = new AccessPoints(server.aps)
  }

  /** Resolves when its access points answer; nobody moves yet. */
  static async open({ speed, answers, start, ...options }: GeneratedOptions): Promise<GeneratedCampus> {
    const campus = new Campus({ ...options, start: start ?? new Date().setHours(BEGINS_AT_HOUR, 0, 0, 0) })
    return new GeneratedCampus(campus, await AccessPointServer.listen(campus, answers), speed)
  }

  get ground(): Ground {
    return this.#campus.ground
  }

  /** How many there are. */
  get stations(): number {
    return this.#campus.stations
  }

  /** Its time, in milliseconds. */
  get now(): number {
    return this.#campus.now
  }

  /** From now on everybody moves. */
  begin(source: Source): void {
    this.stop()
    this.#stopDriving = drive(this.#campus, this.speed, ({ text, ap }) => void source.feed(text, ap.name))
  }

  /** Nobody moves any more; access points still answer. */
  stop(): void {
    this.#stopDriving()
  }

  async close(): Promise<void> {
    this.stop()
    await this.#server.close()
  }
}
