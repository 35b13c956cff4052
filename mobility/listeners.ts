// Who is told of a client's states: the application that has the client, and other services at a node. One interface for
// both; a node says whose state it is.

/** Departed is detached for longer than anybody keeps anything. */
export type AttachmentState = 'attached' | 'detached' | 'departed'

/** Told of every change; `Whose` is what it is told with. */
export type AttachmentListener<Whose extends unknown[] = []> = {
  [State in AttachmentState]?: (...whose: Whose) => void
}

export class AttachmentListeners<Whose extends unknown[] = []> {
  readonly #listeners = new Set<AttachmentListener<Whose>>()

  /** Returns how to listen no more. */
  listen(listener: AttachmentListener<Whose>): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(state: AttachmentState, ...whose: Whose): void {
    for (const listener of [...this.#listeners]) listener[state]?.(...whose)
  }
}
