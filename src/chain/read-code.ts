import { type Address, type Hex, keccak256 } from 'viem'
import { systemClock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { createEndpoint } from './endpoint.ts'
import { codeOn } from './node-reads.ts'

/** Where code is read: any node does, for a hash proves what it says. */
type CodeNodes = {
  readonly chainId: number
  readonly urls: readonly string[]
  readonly timeoutMs: number
}

/** Code at an address, by its keccak-256. */
type Pinned = { readonly address: Address; readonly codeHash: Hex }

/** A clone calls one contract for all that it does; its own code names it. Source: EIP-1167. */
const CLONE = /73([0-9a-f]{40})5af4/

/**
 * Read the code of these contracts, of a clone with that of what it is a clone of, from the first node that answers.
 * @returns code by address, of those alone whose hash it has; empty where no node answers.
 */
export async function readCode(
  pins: readonly Pinned[],
  { chainId, urls, timeoutMs }: CodeNodes,
): Promise<ReadonlyMap<Address, Hex>> {
  for (const [index, url] of urls.entries()) {
    const node = createEndpoint({ name: `read[${index}]`, url, chainId, timeoutMs, clock: systemClock })
    try {
      const codes = await Promise.all(pins.map(({ address }) => codeOn(node, address, 'latest')))
      const proven = pins.flatMap(({ address, codeHash }, at) => {
        const code = codes[at] ?? '0x'
        return keccak256(code) === codeHash ? [[address, code] as const] : []
      })
      const whole = proven.map(async ([address, code]) => {
        const [, of] = CLONE.exec(code) ?? []
        const rest = of === undefined ? '0x' : await codeOn(node, `0x${of}`, 'latest')
        return [address, `${code}${rest.slice(2)}`] as const
      })
      return new Map(await Promise.all(whole))
    } catch (error) {
      if (!(error instanceof RolekeeperError)) throw error
    } finally {
      await node.close()
    }
  }
  return new Map()
}
