import type { Address } from 'viem'
import type { Line, Page } from '../../src/journal/sqlite/accounts.ts'
import { SIGNER, TOKEN } from './workflows.ts'

/** A bitcoin by its address, at $100,000, and who it is bought of. */
export const LOT: Address = `0x${'b7'.repeat(20)}`
const DESK: Address = `0x${'de'.repeat(20)}`
export const HOUR_MS = 3_600_000

/** Whose the pages are. */
export const OF = { chainId: 1, signer: SIGNER, role: 'rfq-bidder' } as const

const point = (hour: number) => ({
  number: BigInt(hour),
  atMs: hour * HOUR_MS,
  hash: `0x${String(hour).padStart(64, '0')}` as const,
})

/** Close an hour of a bidder's accounts, the first of which opens them. */
export const hourPage = (
  hour: number,
  lines: readonly Pick<Line, 'token' | 'assets' | 'workflowId'>[],
): Page => ({
  ...OF,
  count: 0,
  positions: [],
  closing: [],
  from: hour === 0 ? null : point(hour - 1),
  to: point(hour),
  tokens: [
    { token: TOKEN, symbol: 'sUSD', decimals: 6 },
    { token: LOT, symbol: 'sBTC', decimals: 8 },
  ],
  prices: [
    { token: TOKEN, usdMicros: 1_000_000n },
    { token: LOT, usdMicros: 100_000_000_000n },
  ],
  lines: lines.map((line) => ({
    kind: 'moved' as const,
    blockNumber: BigInt(hour),
    hash: point(hour).hash,
    counterparty: DESK,
    ...line,
  })),
})
