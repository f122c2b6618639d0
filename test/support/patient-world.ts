import { createClient, http, rpcSchema } from 'viem'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { Keeper } from '../../src/keeper/keeper.ts'

/** A clock that can be held; it goes on where it stood. */
export type HeldClock = Clock & { readonly hold: () => void; readonly go: () => void }

/** Create a clock that goes with the machine's while it is not held. */
export function createHeldClock(): HeldClock {
  let lostMs = 0
  let heldAtMs: number | null = null
  const nowMs = () => heldAtMs ?? systemClock.nowMs() - lostMs
  return {
    nowMs,
    monotonicMs: systemClock.monotonicMs,
    sleep: systemClock.sleep,
    hold: () => {
      heldAtMs = nowMs()
    },
    go: () => {
      if (heldAtMs !== null) lostMs = systemClock.nowMs() - heldAtMs
      heldAtMs = null
    },
  }
}

type SetTime = [{ Method: 'anvil_setTime'; Parameters: [number]; ReturnType: unknown }]

/** States in which a workflow waits for nobody but the machine. */
const OURS: ReadonlySet<string> = new Set(['discovered', 'requested', 'prepared', 'attested', 'cleared'])
/** Beyond this a workflow waits for something else: a block, another before it. */
const HELD_LOOKS_MAX = 100
const LOOK_MS = 100
/** A workflow is on its way this long before the world waits for it: on a quiet machine none is. */
const LATE_LOOKS = 5
/** Blocks come at least so often: some workflows wait for one. */
const APART_LOOKS = 10

export type PatientWorld = {
  readonly attend: (keeper: Pick<Keeper, 'onEvent'>) => void
  /** Have it stand still, or go on, soon. */
  readonly stand: (isStill: boolean) => void
  readonly end: () => Promise<void>
}

/**
 * Let the sandbox's world wait for the keepers that it attends where a busy machine slows them down: while a workflow takes long
 * before it is sent, no block is mined, no tick is told and the clock that all share stands still. So what a lot's last seconds
 * are enough for does not go by how busy the machine is.
 */
export function createPatientWorld(
  { mineEvery, weather, chain }: Pick<Sandbox, 'mineEvery' | 'weather' | 'chain'>,
  clock: HeldClock,
): PatientWorld {
  const anvil = createClient({
    transport: http(chain.rpcUrl, TO_CHAIN),
    rpcSchema: rpcSchema<SetTime>(),
  })
  /** Looks since each came to where it is. */
  const underWay = new Map<string, number>()
  const attend = (keeper: Pick<Keeper, 'onEvent'>) => {
    underWay.clear()
    keeper.onEvent((event) => {
      if (event.type === 'held') underWay.delete(event.id)
      if (event.type !== 'workflow') return
      if (OURS.has(event.state)) underWay.set(event.id, underWay.get(event.id) ?? 0)
      else underWay.delete(event.id)
    })
  }
  let mustStand = false
  const ending = new AbortController()
  const isLate = () => [...underWay.values()].some((looks) => looks >= LATE_LOOKS)
  const hold = async () => {
    clock.hold()
    await Promise.all([mineEvery(0), weather.pause()])
  }
  const go = async () => {
    clock.go()
    // Anvil has a clock of its own.
    await anvil.request({ method: 'anvil_setTime', params: [Math.floor(clock.nowMs() / 1_000)] })
    weather.resume()
    await mineEvery(1)
  }
  let [heldLooks, freeLooks] = [0, 0]
  const look = async () => {
    for (const [id, looks] of underWay) underWay.set(id, looks + 1)
    if (heldLooks > 0 && !mustStand && (!isLate() || heldLooks >= HELD_LOOKS_MAX)) {
      await go()
      heldLooks = 0
      freeLooks = 0
    } else if (heldLooks > 0) heldLooks += 1
    else if (mustStand || (isLate() && freeLooks >= APART_LOOKS)) {
      await hold()
      heldLooks = 1
    } else freeLooks += 1
  }
  const running = (async () => {
    while (!ending.signal.aborted) {
      // What the chain did not answer is asked by the next look: a world that stood still for ever would be no world.
      await look().catch(() => undefined)
      await systemClock.sleep(LOOK_MS, ending.signal).catch(() => undefined)
    }
    if (heldLooks > 0) await go()
  })()
  return {
    attend,
    stand: (isStill) => {
      mustStand = isStill
    },
    end: () => {
      ending.abort()
      return running
    },
  }
}
