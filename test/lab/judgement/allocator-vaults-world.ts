import type { Address } from 'viem'
import { followRates } from './allocator-crowd.ts'
import { createDice, type Dice } from './dice.ts'

export const HOUR_S = 3_600
const DAY_H = 24
/** A world has gone on for three days before it is looked at: what begins out of balance is no skill to mend. */
const BEFORE_H = 72
const YEAR_S = 31_536_000
const BUFFER_SHARE = 0.05
const CAP_SHARE = 0.5
const GAS = { transaction: 90_000, market: 110_000 }
const NATIVE_USD = 3_000

/** A market of the world; whole tokens, each a dollar. Debt is the weather's. */
export type Place = {
  readonly address: Address
  readonly curve: {
    readonly base: number
    readonly slope1: number
    readonly slope2: number
    readonly kink: number
  }
  /** What others have there, now and at home, and which part of the way to better rates they go in an hour. */
  strangers: number
  readonly home: number
  readonly follow: number
  /** What borrowers want at an ordinary rate, hour by hour: a level that wanders, and spikes of random length. */
  readonly demand: Float64Array
  /** How much of it the rate lets through: 0 is whatever it costs; and how much that is now. */
  readonly elastic: number
  ease: number
  debt: number
  /** What a token that was lent there from the beginning has become. */
  grown: number
}

/** A vault of the keeper: by place what it holds. What is due is asked for ahead, with notice. */
export type Holder = {
  readonly address: Address
  readonly held: number[]
  idle: number
  readonly requests: { readonly askedS: number; readonly dueS: number; assets: number }[]
  paid: number
  /** Gas so far, tokens, at what the block charged. */
  spent: number
  moves: number
  /** Hours at whose end a redemption that was due had to wait. */
  late: number
}

/** Several vaults of one keeper over shared markets; changed in place, hour by hour. */
export type KeeperWorld = {
  hour: number
  readonly baseFeeGwei: number
  readonly places: readonly Place[]
  readonly holders: readonly Holder[]
}

/** How a world is drawn. */
export type Draw = {
  readonly hours: number
  readonly baseFeeGwei: number
  readonly holders: number
  /** Whether borrowers come and go by themselves; without, they only answer to the rate. */
  readonly weather: boolean
  /** Whether other lenders go where it pays; without, what they supply stays. */
  readonly crowd?: boolean
  /** Whether holders ask for their money with notice. */
  readonly redemptions: boolean
  /** Whether the vaults begin spread over the markets, filled up daily until now, or idle. */
  readonly deployed: boolean
}

/** Spikes of one market: hours between them, hours that one stays on average, how much more is borrowed. */
const SPIKES = { betweenH: [24, 240], staysH: [1, 168], more: [1.1, 1.8] } as const
const ELASTIC = [0, 2.5] as const
const FOLLOW = [0.02, 0.5] as const
const address = (kind: number, index: number): Address =>
  `0x${(kind * 256 + index + 1).toString(16).padStart(40, '0')}`
const between = (dice: Dice, [low, high]: readonly [number, number]) => low + (high - low) * dice.unit()
/** Short ones as often as long ones. */
const betweenLog = (dice: Dice, [low, high]: readonly [number, number]) => low * (high / low) ** dice.unit()

/** Draw a world: 4 to 7 markets of 0.5 to 3.5 millions, vaults that hold a third of that together. Pure. */
export function drawWorld(seed: number, draw: Draw): KeeperWorld {
  const dice = createDice(seed)
  const places = Array.from({ length: 4 + Math.floor(4 * dice.unit()) }, (_, index) =>
    drawPlace(index, dice, draw),
  )
  const shares = Array.from({ length: draw.holders }, () => 0.3 + dice.unit())
  const whole = shares.reduce((sum, share) => sum + share, 0)
  const total = places.reduce((sum, { strangers }) => sum + strangers, 0) / 3
  const holders = shares.map((share, index): Holder => {
    const assets = (total * share) / whole
    const requests = draw.redemptions ? drawRequests(assets, dice, draw) : []
    const held = places.map(() => 0)
    return { address: address(2, index), held, idle: assets, requests, paid: 0, spent: 0, moves: 0, late: 0 }
  })
  const { baseFeeGwei } = draw
  const world = { hour: -BEFORE_H, baseFeeGwei, places, holders }
  for (; world.hour < 0; passHour(world)) {
    if (!draw.deployed || world.hour % DAY_H !== 0) continue
    for (const holder of holders) bring(world, holder, waterFill(world, holder))
  }
  for (const holder of holders) [holder.spent, holder.moves] = [0, 0]
  return world
}

function drawPlace(index: number, dice: Dice, { hours, weather, crowd }: Draw): Place {
  const strangers = 1e6 * between(dice, [0.5, 3.5])
  const level = strangers * between(dice, [0.45, 0.95])
  const curve = {
    base: between(dice, [0.005, 0.015]) / YEAR_S,
    slope1: between(dice, [0.03, 0.08]) / YEAR_S,
    slope2: between(dice, [0.4, 1.2]) / YEAR_S,
    kink: between(dice, [0.75, 0.9]),
  }
  const spike = { betweenH: betweenLog(dice, SPIKES.betweenH), staysH: betweenLog(dice, SPIKES.staysH) }
  const elastic = between(dice, ELASTIC)
  const demand = new Float64Array(BEFORE_H + hours + 1)
  let [wander, more, left] = [0, 1, 0]
  for (let hour = 0; hour < demand.length; hour += 1) {
    const rolls = [dice.unit(), dice.unit(), dice.unit()] as const
    wander += -0.01 * wander + 0.005 * dice.normal()
    if (weather && left <= 0 && rolls[0] < 1 / spike.betweenH) {
      left = Math.max(1, -Math.log(1 - rolls[1]) * spike.staysH)
      more = SPIKES.more[0] + (SPIKES.more[1] - SPIKES.more[0]) * rolls[2]
    }
    demand[hour] = level * (weather ? Math.exp(wander) : 1) * (left > 0 ? more : 1)
    left -= 1
  }
  const follow = crowd === true ? betweenLog(dice, FOLLOW) : 0
  const lenders = { strangers, home: strangers, follow, grown: 1 }
  return { address: address(1, index), curve, ...lenders, demand, elastic, ease: 1, debt: level }
}

/** Now and then a holder asks for 1 to 8 % of a vault, with a day's to a week's notice. */
function drawRequests(assets: number, dice: Dice, { hours }: Draw): Holder['requests'] {
  const noticeH = between(dice, [24, 168])
  return Array.from({ length: hours }, (_, hour) => hour).flatMap((hour) => {
    const [chance, share] = [dice.unit(), dice.unit()]
    if (chance > 1 / 60) return []
    const askedS = hour * HOUR_S
    return [{ askedS, dueS: askedS + noticeH * HOUR_S, assets: assets * (0.01 + 0.07 * share) }]
  })
}

/** The same world again, to be played otherwise. Pure. */
export const cloneWorld = (world: KeeperWorld): KeeperWorld => ({
  ...world,
  places: world.places.map((place) => ({ ...place })),
  holders: world.holders.map((holder) => ({
    ...holder,
    held: [...holder.held],
    requests: holder.requests.map((request) => ({ ...request })),
  })),
})

/** Let an hour pass: interest, redemptions that are due, and borrowers by what the next hour brings. */
export function passHour(world: KeeperWorld): void {
  for (const [index, place] of world.places.entries()) {
    const interest = rateOf(place, world.holders) * HOUR_S
    for (const holder of world.holders) holder.held[index] = (holder.held[index] ?? 0) * (1 + interest)
    place.grown *= 1 + interest
  }
  world.hour += 1
  for (const holder of world.holders) payDue(holder, world.hour * HOUR_S)
  for (const [index, place] of world.places.entries()) borrow(world, place, index)
  const supplied = world.places.map((_, index) => suppliedIn(world, index))
  const rates = world.places.map((place, index) => lendRate(place, supplied[index] ?? 0))
  followRates(world.places, rates, supplied)
}

/** Borrowers come for a low rate and go from a high one, a part of them in each hour. */
function borrow(world: KeeperWorld, place: Place, index: number): void {
  const supplied = suppliedIn(world, index)
  const rate = borrowRate(place, supplied) * YEAR_S
  place.ease += 0.3 * (easeAt(place, rate) - place.ease)
  place.debt = Math.min(0.99 * supplied, (place.demand[BEFORE_H + world.hour] ?? 0) * place.ease)
}

/** What part of demand a borrow rate a year lets through. */
const easeAt = ({ elastic }: Place, rate: number) => Math.exp(-elastic * (rate - 0.05))

/** What lenders earn in a place with so much supplied once borrowers have answered to the rate, a fraction a second. Pure. */
export function settledRate(place: Place, supplied: number, hour: number): number {
  const demand = place.demand[BEFORE_H + hour] ?? 0
  let [low, high] = [0, 0.99]
  for (let halving = 0; halving < 40; halving += 1) {
    const used = (low + high) / 2
    const rate = borrowRate({ ...place, debt: used * supplied }, supplied) * YEAR_S
    if (demand * easeAt(place, rate) > used * supplied) low = used
    else high = used
  }
  return lendRate({ ...place, debt: low * supplied }, supplied)
}

/** What a place could be, by what is seen of it: borrowers as elastic as any that are drawn, and as many as that asks for. Pure. */
export function likely(world: KeeperWorld, index: number): readonly Place[] {
  const place = world.places[index] as Place
  const rate = borrowRate(place, suppliedIn(world, index)) * YEAR_S
  return [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => {
    const guess = { ...place, elastic: ELASTIC[0] + part * (ELASTIC[1] - ELASTIC[0]) }
    return { ...guess, demand: place.demand.map(() => place.debt / easeAt(guess, rate)) }
  })
}

function payDue(holder: Holder, nowS: number): void {
  for (const request of holder.requests) {
    if (request.dueS > nowS || request.assets === 0) continue
    const assets = Math.min(request.assets, holder.idle)
    request.assets -= assets
    holder.idle -= assets
    holder.paid += assets
    if (request.assets > 1) holder.late += 1
  }
}

/** What of a vault's requests waits now. Pure. */
export const waitingIn = ({ requests }: Holder, hour: number) =>
  requests.filter(({ askedS, assets }) => askedS <= hour * HOUR_S && assets > 0)

/** What a vault is worth. Pure. */
export const assetsOf = ({ idle, held }: Holder): number => held.reduce((sum, amount) => sum + amount, idle)
/** That, with what was paid out and less what its moves cost. Pure. */
const earnedBy = (holder: Holder): number => assetsOf(holder) + holder.paid - holder.spent
/** All vaults of the keeper together. Pure. */
export const worthOf = ({ holders }: KeeperWorld): number =>
  holders.reduce((sum, holder) => sum + earnedBy(holder), 0)

export const suppliedIn = ({ places, holders }: KeeperWorld, index: number): number =>
  holders.reduce((sum, { held }) => sum + (held[index] ?? 0), places[index]?.strangers ?? 0)

function borrowRate({ curve, debt }: Place, supplied: number): number {
  const { base, slope1, slope2, kink } = curve
  const used = Math.min(1, debt / supplied)
  return base + (slope1 * Math.min(used, kink)) / kink + (slope2 * Math.max(0, used - kink)) / (1 - kink)
}

/** What lenders earn in a place with so much supplied, a fraction a second. Pure. */
export const lendRate = (place: Place, supplied: number): number =>
  borrowRate(place, supplied) * Math.min(1, place.debt / supplied)

const rateOf = (place: Place, holders: readonly Holder[]) => {
  const index = Number.parseInt(place.address.slice(-2), 16) - 1
  return lendRate(
    place,
    holders.reduce((sum, { held }) => sum + (held[index] ?? 0), place.strangers),
  )
}

/** What is to lie idle for holders who leave without notice. Pure. */
export const bufferOf = (holder: Holder): number => assetsOf(holder) * BUFFER_SHARE * 1.002
/** What must lie idle before anything is supplied. Pure. */
export const neededBy = (holder: Holder, hour: number): number =>
  bufferOf(holder) + waitingIn(holder, hour).reduce((sum, { assets }) => sum + assets, 0) * 1.002
export const capOf = (holder: Holder): number => assetsOf(holder) * CAP_SHARE * 0.998
export const rules = { bufferBps: BUFFER_SHARE * 10_000, capBps: CAP_SHARE * 10_000 }
/** What of a vault's a place could give back now. Pure. */
export const cashOf = (world: KeeperWorld, holder: Holder, index: number): number =>
  (holder.held[index] ?? 0) * (1 - Math.min(1, (world.places[index]?.debt ?? 0) / suppliedIn(world, index)))

/** Bring a vault to amounts, in the order of the places, and charge the gas of it. */
export function bring(world: KeeperWorld, holder: Holder, targets: readonly number[]): void {
  const touched = targets.filter((target, index) => target !== holder.held[index]).length
  if (touched === 0) return
  targets.forEach((target, index) => {
    holder.idle += (holder.held[index] ?? 0) - target
    holder.held[index] = target
  })
  holder.spent += gasTokens(world, touched)
  holder.moves += 1
}

/** What a move costs that touches so many places; a tip of 1 gwei comes on top of the base fee. Pure. */
export const gasTokens = ({ baseFeeGwei }: KeeperWorld, touched: number): number =>
  ((GAS.transaction + GAS.market * touched) * (baseFeeGwei + 1) * NATIVE_USD) / 1e9

/** Marginal water-filling: part by part to where the next part earns most, within caps; what is stuck stays. Pure. */
export function waterFill(world: KeeperWorld, holder: Holder, parts = 200): readonly number[] {
  const stuck = holder.held.map((amount, index) => amount - cashOf(world, holder, index))
  const amounts = [...stuck]
  const part = Math.max(0, assetsOf(holder) - neededBy(holder, world.hour) - sum(stuck)) / parts
  const others = world.places.map((_, index) => suppliedIn(world, index) - (holder.held[index] ?? 0))
  const earned = (place: Place, index: number, amount: number) =>
    amount * lendRate(place, (others[index] ?? 0) + amount)
  for (let turn = 0; turn < parts; turn += 1) {
    const gains = world.places.map((place, index) => {
      const amount = amounts[index] ?? 0
      if (amount + part > capOf(holder)) return Number.NEGATIVE_INFINITY
      return earned(place, index, amount + part) - earned(place, index, amount)
    })
    const best = gains.indexOf(Math.max(...gains))
    amounts[best] = (amounts[best] ?? 0) + part
  }
  return amounts
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
