import { ceilDiv, wad } from './world.ts'

/** Virtual shares, beside one virtual asset (of a vault) or vault share (of a channel). */
const VIRTUAL = 10n ** 6n
const BPS = 10_000n
const YEAR_S = 365n * 86_400n
const min = (a: bigint, b: bigint) => (a < b ? a : b)
const max = (a: bigint, b: bigint) => (a > b ? a : b)
const over = (a: bigint, b: bigint) => max(a - b, 0n)

/** Assets charged, base units, by fee. */
export type Charged = {
  readonly management: bigint
  readonly performance: bigint
  readonly borrowerManager: bigint
}

/** Thrown where the contract reverts. */
export class Refused extends Error {}

/** Shares by owner; `total` is what was minted. */
function createShares() {
  const held = new Map<string, bigint>()
  let total = 0n
  const of = (owner: string) => held.get(owner) ?? 0n
  return {
    of,
    total: () => total,
    owners: () => [...held.keys()],
    mint: (owner: string, shares: bigint) => {
      held.set(owner, of(owner) + shares)
      total += shares
    },
    burn: (owner: string, shares: bigint) => {
      if (of(owner) < shares) throw new Refused('shares')
      held.set(owner, of(owner) - shares)
      total -= shares
    },
  }
}

/** Where the vault itself is an owner: of what waits in its queue. */
export const QUEUE = 'queue'

export type VaultModel = ReturnType<typeof createVaultModel>

/**
 * The arithmetic of a vault with fees, to the base unit and every rounding; exits are at once, no market caps. `now` is in
 * seconds and `allocated` in base units: whoever uses it sets both before each act. Source: VaultFees.sol, LendingVault.sol.
 */
export function createVaultModel() {
  const shares = createShares()
  const state = {
    now: 0n,
    idle: 0n,
    allocated: 0n,
    bufferBps: 0n,
    management: 0n,
    performance: 0n,
    borrowerManager: 0n,
    accruedAt: 0n,
    highWaterMark: wad,
    interestMark: 0n,
    charged: { management: 0n, performance: 0n, borrowerManager: 0n } as Charged,
    queue: [] as { readonly receiver: string; readonly shares: bigint }[],
  }
  const totalAssets = () => state.idle + state.allocated
  const charges = () => state.management + state.performance + state.borrowerManager > 0n

  function dueFees() {
    const assets = totalAssets()
    let all = shares.total() + VIRTUAL
    const due = {
      management: 0n,
      performance: 0n,
      borrowerManager: 0n,
      recipientShares: 0n,
      curatorShares: 0n,
      highWaterMark: 0n,
      interestMark: 0n,
    }
    if (all > VIRTUAL) {
      const elapsed = state.now - state.accruedAt
      due.management = min(assets, (assets * state.management * elapsed) / (BPS * YEAR_S))
      let left = assets - due.management
      const interest = over(state.allocated, state.interestMark)
      due.borrowerManager = min(left, (interest * state.borrowerManager) / BPS)
      left -= due.borrowerManager
      const marked = ceilDiv(state.highWaterMark * all, wad * VIRTUAL)
      due.performance = (over(left + 1n, marked) * state.performance) / BPS
      left -= due.performance
      due.recipientShares = ((due.management + due.performance) * all) / (left + 1n)
      due.curatorShares = (due.borrowerManager * all) / (left + 1n)
    }
    all += due.recipientShares + due.curatorShares
    due.interestMark = max(state.interestMark, state.allocated)
    due.highWaterMark = max(state.highWaterMark, ceilDiv((assets + 1n) * wad * VIRTUAL, all))
    return due
  }

  /** Charge what is due, whether anything is charged or not. */
  function accrueAnyway(): Charged {
    const due = dueFees()
    Object.assign(state, {
      accruedAt: state.now,
      highWaterMark: due.highWaterMark,
      interestMark: due.interestMark,
      charged: chargedWith(due),
    })
    if (due.recipientShares > 0n) shares.mint('owner', due.recipientShares)
    if (due.curatorShares > 0n) shares.mint('curator', due.curatorShares)
    return due
  }
  const none: Charged = { management: 0n, performance: 0n, borrowerManager: 0n }
  const accrue = (): Charged => (charges() ? accrueAnyway() : none)
  const chargedWith = (due: Charged): Charged => ({
    management: state.charged.management + due.management,
    performance: state.charged.performance + due.performance,
    borrowerManager: state.charged.borrowerManager + due.borrowerManager,
  })
  const totalSupply = () => {
    if (!charges()) return shares.total()
    const due = dueFees()
    return shares.total() + due.recipientShares + due.curatorShares
  }
  const toShares = (assets: bigint, divide = floorDiv) =>
    divide(assets * (totalSupply() + VIRTUAL), totalAssets() + 1n)
  const toAssets = (of: bigint, divide = floorDiv) =>
    divide(of * (totalAssets() + 1n), totalSupply() + VIRTUAL)
  const freeAssets = () => over(state.idle, toAssets(shares.of(QUEUE), ceilDiv))
  const neededIdle = () => ceilDiv(totalAssets() * state.bufferBps, BPS) + toAssets(shares.of(QUEUE), ceilDiv)

  function pay(owner: string, assets: bigint, burnt: bigint): void {
    accrue()
    shares.burn(owner, burnt)
    if (assets > state.idle) throw new Refused('idle')
    state.idle -= assets
  }

  return {
    state,
    shares,
    totalAssets,
    totalSupply,
    toShares,
    toAssets,
    freeAssets,
    accrue,
    charged: () => (charges() ? chargedWith(dueFees()) : state.charged),
    setFees: (management: bigint, performance: bigint) => {
      accrueAnyway()
      Object.assign(state, { management, performance })
    },
    setCuratorFee: (borrowerManager: bigint) => {
      accrueAnyway()
      Object.assign(state, { borrowerManager })
    },
    deposit: (owner: string, assets: bigint): bigint => {
      const minted = toShares(assets)
      accrueAnyway()
      state.idle += assets
      shares.mint(owner, minted)
      return minted
    },
    withdraw: (owner: string, assets: bigint): bigint => {
      if (assets > min(toAssets(shares.of(owner)), freeAssets())) throw new Refused('withdraw')
      const burnt = toShares(assets, ceilDiv)
      pay(owner, assets, burnt)
      return burnt
    },
    redeem: (owner: string, burnt: bigint): bigint => {
      if (burnt > min(shares.of(owner), toShares(freeAssets()))) throw new Refused('redeem')
      const assets = toAssets(burnt)
      pay(owner, assets, burnt)
      return assets
    },
    request: (owner: string, asked: bigint, receiver = owner): void => {
      if (toAssets(asked) === 0n) throw new Refused('nothing')
      shares.burn(owner, asked)
      shares.mint(QUEUE, asked)
      state.queue.push({ receiver, shares: asked })
    },
    /** Pay the oldest request. */
    claim: (): { readonly receiver: string; readonly assets: bigint } => {
      const [first] = state.queue
      if (first === undefined) throw new Refused('empty')
      const assets = toAssets(first.shares)
      if (assets > state.idle) throw new Refused('not funded')
      state.queue.shift()
      pay(QUEUE, assets, first.shares)
      return { receiver: first.receiver, assets }
    },
    /** Move idle assets to the market; whoever uses the model moves its `allocated`. */
    allocate: (assets: bigint): void => {
      if (assets === 0n || assets > state.idle) throw new Refused('idle')
      if (state.idle - assets < neededIdle()) throw new Refused('buffer')
      accrue()
      Object.assign(state, { idle: state.idle - assets, allocated: state.allocated + assets })
      state.interestMark += assets
    },
    deallocate: (assets: bigint, cash: bigint): void => {
      if (assets === 0n || assets > cash) throw new Refused('cash')
      accrue()
      Object.assign(state, { idle: state.idle + assets, allocated: state.allocated - assets })
      state.interestMark = over(state.interestMark, assets)
    },
  }
}

const floorDiv = (a: bigint, b: bigint) => a / b

/** Who a channel is, among a vault's owners. */
export const CHANNEL = 'channel'

export type ChannelModel = ReturnType<typeof createChannelModel>

/** The arithmetic of a channel of that vault; its reseller, the owner, has fees a year and of the gain. Source: PartnerChannel.sol. */
export function createChannelModel(vault: VaultModel, resellerBps: bigint, borrowerBps: bigint) {
  const shares = createShares()
  const price = () => vault.toAssets(wad * VIRTUAL)
  const state = {
    highWaterMark: price(),
    accruedAt: vault.state.now,
    feeShares: 0n,
    borrowerFeeShares: 0n,
    feeSharesClaimed: 0n,
    borrowerFeeClaimed: 0n,
    blocked: new Set<string>(),
  }
  /** Where the channel is blocked, nobody is free. */
  const requireOpen = (...names: readonly string[]): void => {
    if ([CHANNEL, ...names].some((name) => state.blocked.has(name))) throw new Refused('blocked')
  }
  const held = () => vault.shares.of(CHANNEL)

  function dueFees() {
    const highWaterMark = max(state.highWaterMark, price())
    if (shares.total() === 0n) return { highWaterMark, resellerShares: 0n, borrowerShares: 0n }
    const all = held()
    const elapsed = vault.state.now - state.accruedAt
    const reseller = min(all, (all * resellerBps * elapsed) / (BPS * YEAR_S))
    const gain = (highWaterMark - state.highWaterMark) * borrowerBps
    const borrower = ((all - reseller) * gain) / (highWaterMark * BPS)
    const left = all - reseller - borrower + 1n
    const supply = shares.total() + VIRTUAL
    return {
      highWaterMark,
      resellerShares: (reseller * supply) / left,
      borrowerShares: (borrower * supply) / left,
    }
  }

  function accrue(): void {
    const due = dueFees()
    Object.assign(state, { accruedAt: vault.state.now, highWaterMark: due.highWaterMark })
    state.feeShares += due.resellerShares
    state.borrowerFeeShares += due.borrowerShares
    if (due.resellerShares + due.borrowerShares > 0n)
      shares.mint(CHANNEL, due.resellerShares + due.borrowerShares)
  }
  const totalSupply = () => {
    const due = dueFees()
    return shares.total() + due.resellerShares + due.borrowerShares
  }
  const toAssets = (of: bigint) => vault.toAssets((of * (held() + 1n)) / (totalSupply() + VIRTUAL))

  const maxRedeem = (owner: string): bigint => {
    const free = min(held(), vault.toShares(vault.freeAssets()))
    const [all, claimed] = [totalSupply() + VIRTUAL, held() + 1n]
    const most = (shares.of(owner) * claimed) / all
    return most <= free ? shares.of(owner) : (free * all) / claimed
  }

  return {
    state,
    shares,
    totalSupply,
    toAssets,
    totalAssets: () => vault.toAssets(held()),
    feeShares: () => state.feeShares + dueFees().resellerShares,
    borrowerFeeAssets: () => toAssets(state.borrowerFeeShares + dueFees().borrowerShares),
    setBlocked: (account: string, blocked: boolean): void => {
      if (blocked) state.blocked.add(account)
      else state.blocked.delete(account)
    },
    deposit: (owner: string, assets: bigint): bigint => {
      requireOpen(owner)
      const minted = (vault.toShares(assets) * (totalSupply() + VIRTUAL)) / (held() + 1n)
      accrue()
      shares.mint(owner, minted)
      vault.deposit(CHANNEL, assets)
      return minted
    },
    /** Put what the shares stand for into the vault's queue, which pays the owner whether it is blocked by then or not. */
    request: (owner: string, burnt: bigint): void => {
      requireOpen(owner)
      const asked = (burnt * (held() + 1n)) / (totalSupply() + VIRTUAL)
      if (burnt > shares.of(owner)) throw new Refused('shares')
      if (vault.toAssets(asked) === 0n) throw new Refused('nothing')
      accrue()
      shares.burn(owner, burnt)
      vault.request(CHANNEL, asked, owner)
    },
    transfer: (from: string, to: string, sent: bigint): void => {
      requireOpen(from, to)
      if (to === CHANNEL) throw new Refused('receiver')
      shares.burn(from, sent)
      shares.mint(to, sent)
    },
    redeem: (owner: string, burnt: bigint): bigint => {
      requireOpen(owner)
      const assets = toAssets(burnt)
      if (burnt > maxRedeem(owner)) throw new Refused('redeem')
      if (assets > min(vault.toAssets(held()), vault.freeAssets())) throw new Refused('free')
      accrue()
      shares.burn(owner, burnt)
      vault.withdraw(CHANNEL, assets)
      return assets
    },
    claimFeeShares: (claimed: bigint, recipient: string): void => {
      requireOpen('owner', recipient)
      if (claimed === 0n || claimed > state.feeShares + dueFees().resellerShares) throw new Refused('claim')
      accrue()
      state.feeShares -= claimed
      state.feeSharesClaimed += claimed
      shares.burn(CHANNEL, claimed)
      shares.mint(recipient, claimed)
    },
    claimBorrowerFee: (): bigint => {
      requireOpen('owner')
      const assets = toAssets(state.borrowerFeeShares + dueFees().borrowerShares)
      if (assets === 0n) throw new Refused('nothing')
      if (assets > min(vault.toAssets(held()), vault.freeAssets())) throw new Refused('free')
      accrue()
      shares.burn(CHANNEL, state.borrowerFeeShares)
      Object.assign(state, { borrowerFeeShares: 0n, borrowerFeeClaimed: state.borrowerFeeClaimed + assets })
      vault.withdraw(CHANNEL, assets)
      return assets
    },
  }
}
