import { assumed, each, type Resource } from './notation.ts'

/** What the document does not show, as docs/assumptions.md states it. */
export const ASSUMED_RESOURCES: Readonly<Record<string, Resource>> = {
  OracleResource: assumed({
    id: '~string',
    chainId: '~integer',
    address: '~addr',
    marketId: 'string?',
    priceWad: 'uint-string?',
    state: 'string?',
    ...each('sourceAsOf lastUpdated', 'ts?'),
  }),
  PolledEvent: assumed({ cursor: '~string', event: '~EventEnvelope' }),
  StreamToken: assumed({ ...each('token url', '~string'), expiresAt: '~ts' }),
  TrackedTransaction: assumed({
    order: 'integer?',
    chainId: '~integer',
    txHash: '~hash',
    status: '~string',
    blockNumber: 'uint-string?',
    requestId: 'string?',
  }),
  WorkflowProgress: assumed({
    requestId: '~string',
    workflowType: '~WorkflowType',
    status: '~string',
    transactions: '~TrackedTransaction[]',
    canonicalPostconditions: '~ProgressPostcondition[]',
    freshness: 'Freshness?',
  }),
  ProgressPostcondition: assumed({
    ...each('entityType entityId field', '~string(1..200)'),
    expected: '~any',
    satisfied: '~boolean',
    blockNumber: 'uint-string?',
  }),
  WalletChallenge: assumed({ ...each('challengeId message', '~string'), expiresAt: '~ts' }),
  WalletSession: assumed({ session: '~string', expiresAt: '~ts', address: '~addr' }),
}
