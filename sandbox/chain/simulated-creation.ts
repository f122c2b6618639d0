import type { Address, Hex } from 'viem'
import { z } from 'zod'

/** Where a contract stands, for one simulation, that creates another from what it is called with. */
const CREATOR: Address = '0x00000000000000000000000000000000c7ea7e00'
/**
 * Its code, by hand: copy the input to memory, CREATE it with the value, stop; where that fails, revert with what the
 * constructor said.
 */
const CREATOR_CODE: Hex = '0x36600060003736600034f015601057005b3d600060003e3d6000fd'

const calls = z.array(z.looseObject({ to: z.string().nullish() }))
const blocks = z.looseObject({
  blockStateCalls: z.array(
    z.looseObject({
      stateOverrides: z.record(z.string(), z.unknown()).nullish(),
      calls: calls.nullish(),
    }),
  ),
})

/**
 * Say simulated contract creations as calls of a contract that creates: anvil's eth_simulateV1 knows no call without
 * `to`. The constructor runs with the same input and value and its creation is paid for; its `msg.sender` is another.
 * What holds no creation, or is no simulation, stays as it is. Pure.
 */
export function withCreations(params: readonly unknown[]): readonly unknown[] {
  const parsed = blocks.safeParse(params[0])
  const isCreation = ({ to }: z.output<typeof calls>[number]) => to === undefined || to === null
  if (!parsed.success) return params
  const { blockStateCalls, ...rest } = parsed.data
  if (!blockStateCalls.some((block) => (block.calls ?? []).some(isCreation))) return params
  const withCreator = blockStateCalls.map((block) => ({
    ...block,
    stateOverrides: { ...block.stateOverrides, [CREATOR]: { code: CREATOR_CODE } },
    calls: (block.calls ?? []).map((call) => (isCreation(call) ? { ...call, to: CREATOR } : call)),
  }))
  return [{ ...rest, blockStateCalls: withCreator }, ...params.slice(1)]
}
