import { describe, expect, it } from 'vitest'
import type { SimulationRequest, SimulationResult } from '../../src/chain/nodes.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { askedBy, checkFinal } from '../../src/guard/checks/check-final.ts'
import { honestly, waiting } from '../lab/attacks/chain.ts'
import { CHAIN_ID } from './fixtures.ts'
import { CASES } from './shipped.ts'

const found = CASES.find(([, { name }]) => name === 'liquidate')
if (found === undefined) throw new TypeError('the liquidator liquidates')
const [, kind, ruleset] = found
const options = waiting(kind, ruleset)

const clear = async (
  show: (honest: SimulationResult) => SimulationResult,
  given = options,
  asked: SimulationRequest[] = [],
) => {
  const simulate = async (request: SimulationRequest) => {
    asked.push(request)
    return show(honestly(kind, request))
  }
  const checked = await checkFinal(given, { nodes: { chainId: CHAIN_ID, simulate } })
  return checked.ok ? checked.clearance : checked
}
const rejected = (reason: string) => () => {
  throw new RolekeeperError('node.simulation_rejected', 'rejected', { fix: 'none', facts: { reason } })
}

describe('what a node rejects', () => {
  it('is refused where it is about money, and thrown where another look may help', async () => {
    expect(await clear(rejected('insufficient_funds'))).toMatchObject({ check: 'insufficient_native' })
    expect(await clear(rejected('fee_below_base_fee'))).toMatchObject({ check: 'fee_below_base_fee' })
    await expect(clear(rejected('nonce_too_low'))).rejects.toThrow('rejected')
    const other = () => {
      throw new RolekeeperError('node.timeout', 'late', {
        fix: 'none',
        facts: { reason: 'insufficient_funds' },
      })
    }
    await expect(clear(other)).rejects.toThrow('late')
    await expect(
      clear(() => {
        throw new TypeError('insufficient_funds')
      }),
    ).rejects.toThrow(TypeError)
  })
})

describe('what is simulated', () => {
  it('is on top of the block that the signer’s nonces were read at, where there is one', async () => {
    const asked: SimulationRequest[] = []
    await clear((honest) => honest, options, asked)
    expect(asked[0]).not.toHaveProperty('at')
    const at = { number: 100n, hash: '0x01', parentHash: '0x', timestampS: 1, baseFeePerGasWei: 1n } as const
    await clear((honest) => honest, { ...options, signer: { ...options.signer, at } }, asked)
    expect(asked[1]).toMatchObject({ at })
  })

  it('is what could be asked beforehand, and nothing where it is refused unasked', async () => {
    const asked: SimulationRequest[] = []
    await clear((honest) => honest, options, asked)
    expect(asked[0]).toMatchObject(askedBy(options, CHAIN_ID) ?? {})
    expect(askedBy(options, CHAIN_ID)).not.toBeNull()
    expect(askedBy(options, CHAIN_ID + 1)).toBeNull()
    const { prepared: _none, ...unprepared } = options.workflow
    expect(askedBy({ ...options, workflow: unprepared }, CHAIN_ID)).toBeNull()
    expect(await clear((honest) => honest, { ...options, workflow: unprepared })).toMatchObject({
      check: 'not_prepared',
    })
  })

  it('says of a revert what the contract said', async () => {
    const reverting = (returnData: `0x${string}`) => (honest: SimulationResult) => ({
      ...honest,
      bundle: honest.bundle.map((ran) => ({ ...ran, status: 'reverted' as const, returnData })),
    })
    expect(await clear(reverting('0x'))).toMatchObject({ message: expect.stringContaining('with no data') })
    expect(await clear(reverting('0x12345678ff'))).toMatchObject({
      message: expect.stringContaining('with 0x12345678.'),
    })
  })
})
