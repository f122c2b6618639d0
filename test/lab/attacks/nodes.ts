import { concatHex, type Hex, padHex, toHex, zeroHash } from 'viem'
import type { Endpoint } from '../../../src/chain/endpoint.ts'
import { joinNodes } from '../../../src/chain/join-nodes.ts'
import type { SimulationRequest, SimulationResult } from '../../../src/chain/nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { checkFinal } from '../../../src/guard/checks/check-final.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import { CHAIN_ID, NOW_MS } from '../../guard/fixtures.ts'
import type { Kind } from '../../guard/kind.ts'
import { type ChainAttack, honestly, waiting } from './chain.ts'

const quantity = (value: bigint | number): Hex => `0x${value.toString(16)}`
const HEAD = {
  number: quantity(100),
  hash: padHex('0xbb'),
  parentHash: padHex('0xba'),
  timestamp: quantity(NOW_MS / 1_000 - 1),
  baseFeePerGas: '0x1',
  gasUsed: '0x0',
  gasLimit: '0x1c9c380',
  miner: padHex('0xfe', { size: 20 }),
}

const ran = (returnData: Hex | null) => ({
  status: returnData === null ? '0x0' : '0x1',
  returnData: returnData ?? '0x',
  gasUsed: '0x5208',
  logs: [],
})

/** What a node writes of a simulation that shows this. */
const wireOf = ({ codeAt = [] }: SimulationRequest, shown: SimulationResult) => [
  {
    calls: [
      ...(codeAt.length === 0 ? [] : [ran(concatHex(shown.codeHashes.map((code) => code ?? zeroHash)))]),
      ...shown.before.map(ran),
      ...shown.bundle.map(({ status, gasUsed, returnData, logs }) => ({
        status: status === 'success' ? '0x1' : '0x0',
        gasUsed: quantity(gasUsed),
        returnData,
        logs: logs.map(({ address, topics, data }) => ({ address, topics, data })),
      })),
      ...shown.after.map(ran),
    ],
  },
]

/** A node, by what it shows: what is there, what the attack shows, or that with a lie of its own beside it. */
export type Shows = 'truth' | ChainAttack

/**
 * Clear a kind of workflow by three nodes of which two must say the same, each as its own server would write it: the
 * check that refuses it, `node.quorum_missing`, or `cleared`; null where an attack does not fit.
 */
export async function clearByThree(
  kind: Kind,
  rules: Ruleset,
  shows: readonly Shows[],
  agree = 2,
): Promise<string | null> {
  const options = waiting(kind, rules)
  let [fits, asked] = [true, null as SimulationRequest | null]
  const shownBy = (one: Shows, request: SimulationRequest): SimulationResult => {
    const honest = honestly(kind, request, rules.deployment)
    const shown = one === 'truth' ? honest : one.on(honest, request)
    if (shown !== null && !(shown instanceof RolekeeperError)) return shown
    fits = false
    return honest
  }
  const readers = shows.map((one, index): Endpoint => {
    const read: Endpoint['read'] = async (method, params) => {
      if (method === 'eth_getBlockByNumber') return { ok: true, result: HEAD }
      if (asked === null) throw new TypeError(`nothing was asked before ${method}`)
      const shown = shownBy(one, asked)
      if (method === 'eth_simulateV1') return { ok: true, result: wireOf(asked, shown) }
      const [of, slot] = params
      const at = (asked.slots ?? []).findIndex((each) => each.of === of && each.slot === slot)
      return { ok: true, result: toHex(shown.words[at] ?? 0n, { size: 32 }) }
    }
    return {
      name: `node ${index}`,
      alive: () => true,
      read,
      once: read,
      checkChain: async () => {},
      close: async () => {},
    }
  })
  const nodes = joinNodes({
    chainId: CHAIN_ID,
    readers,
    senders: [],
    agree,
    finality: 'finalized',
    pollMs: 100,
    clock: { ...systemClock, nowMs: () => NOW_MS },
  })
  const simulate = (request: SimulationRequest) => {
    asked = request
    return nodes.simulate(request)
  }
  try {
    const checked = await checkFinal(options, { nodes: { chainId: CHAIN_ID, simulate } })
    return fits ? (checked.ok ? 'cleared' : checked.check) : null
  } catch (error) {
    // Too few answers that can be read: nothing is cleared, and it is tried again.
    if (error instanceof RolekeeperError && error.code === 'node.quorum_missing') return error.code
    throw error
  }
}
