import type { z } from 'zod'
import { exactNative, exactUsd } from '../../units.ts'
import { usdMicros, wei } from './yaml-scalars.ts'

/** What may leave us and what gas may cost, of one workflow or in a rolling window: millionths of a dollar, wei. */
export const spend = { usdMicrosMax: usdMicros(), gasWeiMax: wei() }
/** What leaves us has a name of its own: `usdMicrosMax` without its unit would say nothing. */
export const spendNames = { usdMicrosMax: 'movedMax' }

type Spend = { readonly usdMicrosMax: bigint; readonly gasWeiMax: bigint; readonly revertsMax?: number }

const BOUNDS: readonly (readonly [
  name: string,
  of: (spend: Spend) => bigint,
  write: (n: bigint) => string,
])[] = [
  ['movedMax', ({ usdMicrosMax }) => usdMicrosMax, exactUsd],
  ['gasMax', ({ gasWeiMax }) => gasWeiMax, exactNative],
  ['revertsMax', ({ revertsMax = 0 }) => BigInt(revertsMax), String],
]

type NamedSpend = readonly [name: string, spend: Spend]

/** Refuse a limit that is above that of the longer time, in which it is spent as well: one of the two is a slip. */
export function nest(context: z.RefinementCtx, [inner, less]: NamedSpend, [outer, more]: NamedSpend): void {
  for (const [name, of, write] of BOUNDS) {
    if (of(less) <= of(more)) continue
    const message = `${outer}.${name} is ${write(of(more))}, and what ${inner} allows is spent there as well`
    const params = { fix: `correct whichever of the two is the slip: ${inner} is no more than ${outer}` }
    context.addIssue({ code: 'custom', path: [inner, name], message, params })
  }
}
