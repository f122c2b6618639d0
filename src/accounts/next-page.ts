import { type Address, zeroAddress } from 'viem'
import type { Head, Nodes, Transfer } from '../chain/nodes.ts'
import { RolekeeperError } from '../errors.ts'
import { type OwnedAssets, readOwned, type WorthOptions } from '../guard/limits/valuation.ts'
import { createReads } from '../guard/reads/views.ts'
import { allocatesView } from '../guard/sanity/vault-views.ts'
import type { Journal } from '../journal/journal.ts'
import type { Accounts, Balance, Line, Page, Point, Position } from '../journal/sqlite/accounts.ts'
import { paidWei, type Slot, slotAt } from '../workflow/slot.ts'
import { readLeadingBids } from './fund-leading-bids.ts'
import { markUnread } from './mark-unread.ts'
import type { Period } from './period.ts'
import { readVaultLoans } from './vault-loans.ts'

/** Whose accounts, and how what it has is read. */
export type AccountsOf = Omit<WorthOptions, 'owners'> &
  Pick<Page, 'role' | 'signer' | 'owner'> & {
    /** Of a vault, whose key moves it: nothing is entered while that key may not. */
    readonly mover?: Address
  }

/** What keeping accounts needs. */
export type AccountsDeps = {
  readonly nodes: Pick<
    Nodes,
    'chainId' | 'finalized' | 'block' | 'transactionCount' | 'transfers' | 'calls' | 'balanceWei'
  >
  readonly journal: Pick<Journal, 'byNonce'>
  readonly accounts: Pick<Accounts, 'last' | 'add'>
}

const NATIVE_COIN = { token: null, symbol: 'ETH', decimals: 18 } as const

/** Blocks whose logs are asked for at once. */
const BLOCKS_MAX = 2_000n
/** A page is begun so often where nothing of ours moves: what is held is marked then. */
const QUIET_MS_MAX = 3_600_000

/**
 * Add a page up to the newest final block where more moved since the last one than strangers gave, or an hour passed. What is in it never
 * changes: all of it is final, and whatever no log and no transaction of ours explains is a line that says so.
 * @returns the page with the one that it follows; null where none was added, or the first.
 * Throws RolekeeperError `accounts.forked`, `accounts.not_read`, `worth.not_read` and `node.*`.
 */
export async function addNextPage(of: AccountsOf, deps: AccountsDeps): Promise<Period[number] | null> {
  const { nodes, accounts } = deps
  const { role, owner, deployment } = of
  const signer: Address = `0x${of.signer.slice(2).toLowerCase()}`
  const last = await accounts.last(nodes.chainId, signer)
  const final = await nodes.finalized()
  const to = pointOf(final)
  if (last !== null && last.to.number >= to.number) return null
  const count = await nodes.transactionCount(signer, final.hash)
  const named = last === null ? [] : await linesSince(last, { ...of, signer }, final, count, deps)
  // A transaction that our own record has not closed yet.
  if (named === null) return null
  const isQuiet = last?.count === count && named.every((line) => isGift(line, deployment))
  if (last !== null && isQuiet && to.atMs - last.to.atMs < QUIET_MS_MAX) return null
  if (of.mover !== undefined && !(await mayMove(of.mover, signer, nodes, final))) return null
  const [owned, lent, led] = await Promise.all([
    readOwned({ ...of, owners: [signer] }, nodes, final),
    owner === 'vault' ? readVaultLoans(signer, deployment, nodes, final) : null,
    owner === 'fund' ? readLeadingBids(signer, deployment, nodes, final) : [],
  ])
  const read: Omit<Page, 'lines'> = {
    chainId: nodes.chainId,
    signer,
    role,
    from: last?.to ?? null,
    to,
    count,
    ...(owner === undefined ? {} : { owner }),
    ...(lent === null
      ? {}
      : { lent: lent.map(({ market, assets, ratePerSecondWad }) => ({ market, assets, ratePerSecondWad })) }),
    tokens: [
      ...deployment.assets.map(({ address: token, symbol, decimals }) => ({
        token,
        symbol,
        decimals,
        ...(deployment.markets.some(({ collateralAsset }) => collateralAsset === token)
          ? ({ isCollateral: true } as const)
          : {}),
      })),
      NATIVE_COIN,
    ],
    closing: owned.wallet,
    positions: summed([
      ...owned.positions,
      ...led,
      ...(lent ?? []).map(({ market: at, token, assets }) => ({ at, token, assets })),
    ]),
    prices: [...owned.prices].map(([token, usdMicros]) => ({
      token,
      usdMicros,
      by: pricedBy(token, deployment, owned.prices),
    })),
  }
  const page = last === null ? read : markUnread(read, named, last, deployment)
  const lines = last === null ? [] : [...named, ...unexplained(last, named, page)]
  const added = { ...page, lines }
  const isAdded = await accounts.add(added)
  return isAdded && last !== null ? { before: last, page: added } : null
}

/** Whether an account allocates a vault at a block: what others do with theirs is not in our accounts. */
async function mayMove(
  mover: Address,
  vault: Address,
  nodes: Pick<Nodes, 'calls'>,
  at: Head,
): Promise<boolean> {
  const reads = createReads()
  const isAllocator = reads.ask(allocatesView(vault, mover))
  reads.fill(await nodes.calls(reads.calls, at))
  return isAllocator() === true
}

/** Whether a stranger gave it: nobody makes pages by dust, as the newest of them are all that is learned from. */
const isGift = ({ assets, counterparty }: Line, deployment: WorthOptions['deployment']): boolean =>
  assets > 0n && counterparty !== null && counterparty !== zeroAddress && !isPinned(counterparty, deployment)

/** What says what a token is worth, as {@link readOwned} asks it: the last market's oracle that prices it, or what is stated. */
function pricedBy(
  token: Address | null,
  { markets, assets }: WorthOptions['deployment'],
  prices: OwnedAssets['prices'],
): NonNullable<Page['prices'][number]['by']> {
  if (token === null) return 'fees.nativePrice'
  const oracle = markets.findLast(
    ({ collateralAsset, loanAsset }) => collateralAsset === token && prices.has(loanAsset),
  )?.oracle
  const isStated = assets.some(({ address, price }) => address === token && price !== undefined)
  return oracle ?? (isStated ? 'deployment.assets' : 'limits.prices')
}

const isPinned = (
  counterparty: Address,
  { markets, vaults, funds, contracts }: WorthOptions['deployment'],
): boolean => [...markets, ...vaults, ...funds, ...contracts].some(({ address }) => address === counterparty)

/**
 * Whether what moved is what those who own a vault or a fund give and take. A vault earns at markets alone: a channel or
 * another vault is one of its owners.
 */
function isFlow(
  owner: Page['owner'],
  counterparty: Address,
  deployment: WorthOptions['deployment'],
): boolean {
  if (owner === undefined) return false
  if (owner === 'fund') return !isPinned(counterparty, deployment)
  return !deployment.markets.some(({ address }) => address === counterparty)
}

const pointOf = ({ number, hash, timestampS }: Head): Point => ({ number, hash, atMs: timestampS * 1_000 })

const held = (balances: readonly Balance[], token: Address | null) =>
  balances.filter((each) => each.token === token)

function summed(positions: readonly Position[]): readonly Position[] {
  return [...Map.groupBy(positions, ({ at, token }) => `${at}:${token}`).values()]
    .flatMap(([first, ...more]) =>
      first === undefined
        ? []
        : { ...first, assets: more.reduce((sum, { assets }) => sum + assets, first.assets) },
    )
    .filter(({ assets }) => assets !== 0n)
}

/** What moved since a page, by logs and by our own transactions; null while one of these has no end in the journal. */
async function linesSince(
  last: Page,
  of: AccountsOf,
  final: Head,
  count: number,
  { nodes, journal }: AccountsDeps,
): Promise<readonly Line[] | null> {
  const { signer, deployment } = of
  const known = await nodes.block(last.to.number)
  if (known === null) throw notRead(last)
  if (known.hash !== last.to.hash) throw forked(last)
  const ours: { readonly workflowId: string; readonly slot: Slot }[] = []
  for (let nonce = last.count; nonce < count; nonce += 1) {
    const workflow = await journal.byNonce(nodes.chainId, signer, nonce)
    // What our record does not know, the balance of the native coin tells.
    const slot = workflow === 'archived' ? undefined : slotAt(workflow, signer, nonce)
    if (workflow === null || workflow === 'archived' || slot === undefined || slot.consumedByOther) continue
    if (slot.state !== 'final') return null
    ours.push({ workflowId: workflow.id, slot })
  }
  const workflowOf = new Map(ours.map(({ workflowId, slot }) => [slot.inclusion?.hash, workflowId]))
  // One that was not listed then opens with this page.
  const tokens = deployment.assets.flatMap(({ address }) =>
    held(last.closing, address).length === 0 ? [] : address,
  )
  const transfers: Transfer[] = []
  for (let fromBlock = last.to.number + 1n; fromBlock <= final.number; fromBlock += BLOCKS_MAX) {
    const end = fromBlock + BLOCKS_MAX - 1n
    const toBlock = end < final.number ? end : final.number
    transfers.push(...(await nodes.transfers({ tokens, account: signer, fromBlock, toBlock })))
  }
  const moved = transfers
    // Anybody may log that nothing was taken from us, as often as they like.
    .filter(({ from, to, assets }) => from !== to && assets !== 0n)
    .map(({ token, from, to, assets, blockNumber, hash }): Line => {
      const isOut = from === signer
      const counterparty = isOut ? to : from
      const workflowId = workflowOf.get(hash) ?? null
      return {
        kind: isFlow(of.owner, counterparty, deployment) ? 'flow' : 'moved',
        token,
        assets: isOut ? -assets : assets,
        blockNumber,
        hash,
        counterparty,
        workflowId,
      }
    })
  return [...moved, ...ours.flatMap(({ workflowId, slot }) => nativeLines(slot, workflowId))]
}

/** What a transaction took of the native coin. */
function nativeLines({ inclusion, payload }: Slot, workflowId: string): readonly Line[] {
  if (inclusion === undefined) return []
  const { hash, blockNumber, status, purpose } = inclusion
  const line = { token: null, blockNumber, hash, workflowId }
  const isSent = status === 'success' && purpose === 'payload' && payload.valueWei > 0n
  return [
    { ...line, kind: 'gas', assets: -paidWei(inclusion), counterparty: null },
    ...(isSent
      ? [{ ...line, kind: 'sent' as const, assets: -payload.valueWei, counterparty: payload.to }]
      : []),
  ]
}

/** What a balance changed by, and no line says why. */
function unexplained(
  last: Page,
  lines: readonly Line[],
  { closing, to }: Pick<Page, 'closing' | 'to'>,
): readonly Line[] {
  return closing.flatMap(({ token, assets }) => {
    const opening = last.closing.find((each) => each.token === token)
    if (opening === undefined) return []
    const known = lines.filter((line) => line.token === token)
    const missing = assets - opening.assets - known.reduce((sum, line) => sum + line.assets, 0n)
    if (missing === 0n) return []
    const line = { token, assets: missing, blockNumber: to.number, hash: null, counterparty: null }
    return [{ ...line, kind: 'unexplained' as const, workflowId: null }]
  })
}

const notRead = ({ signer, to }: Page) =>
  new RolekeeperError(
    'accounts.not_read',
    `The accounts of ${signer} close a page at block ${to.number}, which the nodes do not have (any more).`,
    {
      fix: 'nothing, when it passes by itself; else add a node that keeps its old blocks to `chain.nodes.read`.',
      facts: { signer },
      retry: 'later',
    },
  )

const forked = ({ signer, to }: Page) =>
  new RolekeeperError(
    'accounts.forked',
    `The accounts of ${signer} close a page at block ${to.number} ${to.hash}, which the chain has left.`,
    {
      fix: "keep accounts.sqlite of the keeper's directory aside and start it again: the accounts open anew from there.",
      facts: { signer },
      retry: 'later',
    },
  )
