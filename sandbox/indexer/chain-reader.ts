import {
  type Address,
  BaseError,
  BlockNotFoundError,
  type ContractFunctionReturnType,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createPublicClient,
  getContractAddress,
  type Hex,
  http,
  numberToHex,
  type PublicClient,
  type RpcLog,
  TransactionReceiptNotFoundError,
  toEventSelector,
} from 'viem'
import { RolekeeperError } from '../../src/errors.ts'
import { fundLensAbi, stateLensAbi } from '../contracts/abis.ts'
import { loadArtifacts } from '../contracts/artifacts.ts'
import { decodeLogs, INDEXED_TOPICS, type IndexedLog, lower } from './logs.ts'

/** A block as far as following the chain needs it. */
export type BlockHeader = {
  readonly number: bigint
  readonly hash: Hex
  readonly parentHash: Hex
  readonly timestampS: number
}

export type MarketState = ContractFunctionReturnType<typeof stateLensAbi, 'view', 'market'>
export type VaultState = ContractFunctionReturnType<typeof stateLensAbi, 'view', 'vault'>
export type ChannelState = ContractFunctionReturnType<typeof stateLensAbi, 'view', 'channel'>
export type FundState = ContractFunctionReturnType<typeof fundLensAbi, 'view', 'fund'>
export type FacilityState = ContractFunctionReturnType<typeof stateLensAbi, 'view', 'facilities'>[number]

/** A borrower's debt to one vault of a market. */
export type Pair = { readonly vault: Address; readonly borrower: Address }

/** What the indexer asks of a node. Every method throws `indexer.node` when the node fails it. */
export type ChainReader = {
  readonly chainId: () => Promise<number>
  readonly head: () => Promise<BlockHeader>
  /** Null when the chain has no such block. */
  readonly header: (number: bigint) => Promise<BlockHeader | null>
  /**
   * The logs in these blocks, both ends included, in chain order, that the contracts' interfaces declare,
   * from any address; none when `to` is before `from`. A vault's or a channel's creation is among them only if it is one of ours.
   */
  readonly logs: (fromBlock: bigint, toBlock: bigint) => Promise<readonly IndexedLog[]>
  /** Throws `indexer.no_deployment` where the contract is not there. */
  readonly market: (market: Address, at: Hex) => Promise<MarketState>
  readonly facilities: (market: Address, pairs: readonly Pair[], at: Hex) => Promise<readonly FacilityState[]>
  /** Null where the vault does not answer: who created it chose its asset, and chooses its markets. */
  readonly vault: (vault: Address, at: Hex) => Promise<VaultState | null>
  /** Null where the channel does not answer: its vault may not. */
  readonly channel: (channel: Address, at: Hex) => Promise<ChannelState | null>
  /**
   * Null where the fund does not answer: who launched it chose its asset.
   * @param holdingIds those to appraise, in this order.
   */
  readonly fund: (fund: Address, holdingIds: readonly bigint[], at: Hex) => Promise<FundState | null>
  /** Null when no mined transaction has this hash. */
  readonly receipt: (
    hash: Hex,
  ) => Promise<{ blockNumber: bigint; blockHash: Hex; status: 'success' | 'reverted' } | null>
}

/** A node on the same machine answers in milliseconds; past this it hangs. */
const TIMEOUT_MS = 5_000
/** Pairs in one eth_call: at about 0.1 M gas each, far below what a node lets a call use. */
const PAIRS_PER_CALL = 100
const VAULT_CREATED = toEventSelector('VaultCreated(address,address,address)')
const CHANNEL_CREATED = toEventSelector('ChannelCreated(address,address,address,address)')
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
/** Blocks in one eth_getLogs: the story logs some 20 kB a block, and an answer is refused from 10 MiB on. */
const BLOCKS_PER_LOGS_CALL = 100n

type ReaderOptions = {
  readonly rpcUrl: string
  readonly lens: Address
  readonly fundLens: Address
  /** What a vault or a channel of ours says it belongs to. */
  readonly directory: Address
  /** Vaults and channels that announced themselves before the logs that will be read. */
  readonly announced: Iterable<Address>
}

/**
 * Create the indexer's view of a node. Requests made in one turn travel as one batch; state is read at a block's
 * hash, so that a reorg makes a read fail instead of mixing two chains.
 */
export function createChainReader(options: ReaderOptions): ChainReader {
  const client = createClient(options.rpcUrl)
  const lens = { address: options.lens, abi: stateLensAbi } as const
  const fundLens = { address: options.fundLens, abi: fundLensAbi } as const
  const readLogs = createLogReader(client, options.directory, new Set(options.announced))

  return {
    chainId: () => asked(() => client.getChainId()),
    head: () => asked(async () => toHeader(await client.getBlock())),
    header: (number) =>
      asked(async () => {
        try {
          return toHeader(await client.getBlock({ blockNumber: number }))
        } catch (cause) {
          if (cause instanceof BlockNotFoundError) return null
          throw cause
        }
      }),
    logs: (fromBlock, toBlock) => asked(() => readLogs(fromBlock, toBlock)),
    market: (market, at) =>
      asked(() => client.readContract({ ...lens, functionName: 'market', args: [market], blockHash: at })),
    facilities: (market, pairs, at) =>
      asked(async () => {
        const calls = []
        for (let start = 0; start < pairs.length; start += PAIRS_PER_CALL) {
          const some = pairs.slice(start, start + PAIRS_PER_CALL)
          const args = [market, some.map((pair) => pair.vault), some.map((pair) => pair.borrower)] as const
          calls.push(client.readContract({ ...lens, functionName: 'facilities', args, blockHash: at }))
        }
        return (await Promise.all(calls)).flat()
      }),
    vault: (vault, at) =>
      asked(() =>
        nullIfReverted(client.readContract({ ...lens, functionName: 'vault', args: [vault], blockHash: at })),
      ),
    channel: (channel, at) =>
      asked(() =>
        nullIfReverted(
          client.readContract({ ...lens, functionName: 'channel', args: [channel], blockHash: at }),
        ),
      ),
    fund: (fund, holdingIds, at) =>
      asked(() =>
        nullIfReverted(
          client.readContract({
            ...fundLens,
            functionName: 'fund',
            args: [fund, [...holdingIds]],
            blockHash: at,
          }),
        ),
      ),
    receipt: (hash) =>
      asked(async () => {
        try {
          const { blockNumber, blockHash, status } = await client.getTransactionReceipt({ hash })
          return { blockNumber, blockHash, status }
        } catch (cause) {
          if (cause instanceof TransactionReceiptNotFoundError) return null
          throw cause
        }
      }),
  }
}

const createClient = (rpcUrl: string): PublicClient =>
  createPublicClient({
    // No cache and no retry: the poll is the retry.
    cacheTime: 0,
    transport: http(rpcUrl, {
      // No abort signal here: clients of one URL share their batches, and so would its abort.
      batch: { batchSize: 100 },
      retryCount: 0,
      timeout: TIMEOUT_MS,
    }),
  })

/** Read the logs that the index is made of, from a block to a block, both included. */
function createLogReader(
  client: PublicClient,
  directory: Address,
  /** Every address that ever announced itself as a vault or a channel. All tokens log transfers; those of their shares are kept. */
  announced: Set<Address>,
): ChainReader['logs'] {
  const artifacts = loadArtifacts()
  const codeOf = { VaultCreated: artifacts.LendingVault, ChannelCreated: artifacts.PartnerChannel } as const

  const isKnown = ({ address, topics: [topic] }: RpcLog): boolean => {
    if (topic === VAULT_CREATED || topic === CHANNEL_CREATED) announced.add(lower(address))
    return topic !== TRANSFER || announced.has(lower(address))
  }

  /**
   * Anyone may emit a creation; its transaction shows whether our code, and no other, was created there, and who did it. Null
   * for one that is not to be believed.
   */
  const believed = async (log: IndexedLog): Promise<IndexedLog | null> => {
    const { event, address, txHash } = log
    if (event.eventName !== 'VaultCreated' && event.eventName !== 'ChannelCreated') return log
    if (lower(event.args.directory) !== lower(directory)) return null
    const { from, to, nonce, input } = await client.getTransaction({ hash: txHash })
    const created = lower(getContractAddress({ from, nonce: BigInt(nonce) }))
    const isOurs = to === null && address === created && input.startsWith(codeOf[event.eventName].bytecode)
    return isOurs ? { ...log, creator: lower(from) } : null
  }

  return async (fromBlock, toBlock) => {
    const found: IndexedLog[] = []
    for (let from = fromBlock; from <= toBlock; from += BLOCKS_PER_LOGS_CALL) {
      const last = from + BLOCKS_PER_LOGS_CALL - 1n
      const topics = [[...INDEXED_TOPICS]]
      const range = {
        fromBlock: numberToHex(from),
        toBlock: numberToHex(last < toBlock ? last : toBlock),
      }
      const logs = await client.request({ method: 'eth_getLogs', params: [{ topics, ...range }] })
      found.push(...decodeLogs(logs.filter(isKnown)))
    }
    return (await Promise.all(found.map(believed))).filter((log) => log !== null)
  }
}

function toHeader(block: { number: bigint; hash: Hex; parentHash: Hex; timestamp: bigint }): BlockHeader {
  return {
    number: block.number,
    hash: block.hash,
    parentHash: block.parentHash,
    timestampS: Number(block.timestamp),
  }
}

async function nullIfReverted<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (cause) {
    const reverted =
      cause instanceof BaseError && cause.walk((e) => e instanceof ContractFunctionRevertedError)
    if (reverted) return null
    throw cause
  }
}

/** Map the node's failures to ours; viem's messages hold the node's URL, so they stay behind as the cause. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    if (!(cause instanceof BaseError)) throw cause
    if (cause.walk((inner) => inner instanceof ContractFunctionZeroDataError) !== null) {
      throw new RolekeeperError('indexer.no_deployment', 'The deployment is not on this chain.', {
        fix: 'start over with --fresh: the chain was replaced while its deployment file was kept.',
        cause,
      })
    }
    throw new RolekeeperError('indexer.node', `The chain's node did not answer: ${cause.name}.`, {
      fix: "check that the sandbox's chain is running.",
      retry: 'later',
      cause,
    })
  }
}
