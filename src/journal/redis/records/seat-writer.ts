import { invariant, type RolekeeperError } from '../../../errors.ts'
import type { Answer } from '../link/answer.ts'
import { seatLost, tailLost } from '../link/faults.ts'
import { type Argument, LINE, type RedisStore } from '../link/store.ts'
import type { ScriptName } from '../scripts/scripts.ts'
import type { Mark, SeatToken } from '../seats/seat.ts'

/** The one that writes for a seat: each change is made once, and none after another holds the seat. */
export class SeatWriter {
  readonly held: SeatToken
  readonly store: RedisStore
  /** One writer of the seat, of those that its holder may have one after another. */
  readonly #writer: string
  /** The sequence of the newest change that was answered. */
  #answered = 0
  /** Why this writer's word counts no more. */
  #lost: RolekeeperError | null = null

  constructor(held: SeatToken, store: RedisStore) {
    this.held = held
    this.store = store
    this.#writer = store.op()
  }

  /** Run a script of the seat's holder, as one change that is made once. */
  async run(name: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<Answer> {
    this.proveHeld()
    const { seat, token } = this.held
    const { store } = this
    const given: readonly Argument[] = [token, this.#writer, LINE, store.op(), this.#answered, ...args]
    const answer = await store.run(name, [store.keys.seat(seat), ...keys], given)
    if (answer.code === 'FENCED') throw this.lose(seatLost(seat))
    if (answer.code === 'TAIL') throw this.lose(tailLost(seat))
    invariant(
      answer.code !== 'OTHER',
      `the ledger holds the digest ${String(answer.values[0])} for something else`,
    )
    if (answer.code === 'OK') this.#answered = Math.max(this.#answered, Number(answer.values[0]))
    return answer
  }

  /** Throw `seat.lost` once it is known: what is in memory says nothing of the record any more. */
  proveHeld(): void {
    if (this.#lost !== null) throw this.#lost
  }

  lose(why: RolekeeperError): RolekeeperError {
    this.#lost ??= why
    return why
  }

  /** What a barrier compares with: it covers every change that was answered before. */
  mark(): Mark {
    return { ...this.held, writer: this.#writer, answered: this.#answered }
  }
}
