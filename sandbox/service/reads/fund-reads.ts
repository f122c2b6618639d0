import { fundResource } from '../../../src/service/contract/fund-resources.ts'
import type { AnyCall, Handlers } from '../http/handler.ts'
import { byId, collection, descending, detail, idOf, type Source } from './rows.ts'

/** Every read of recovery funds and of what was reported to NAV oracles. */
export function fundReads(source: Source) {
  const funds = () => source.canonical.snapshot().funds
  const find = ({ params }: AnyCall) => byId(funds(), params.resourceId, 'fund of this id')
  return {
    listFunds: collection(source, 'funds', funds, idOf),
    getFund: detail(source, fundResource, find),
    listFundEpochs: collection(source, 'fund epochs', (call) => find(call).epochs ?? [], idOf),
    listFundHoldings: collection(source, 'fund holdings', (call) => find(call).holdings ?? [], idOf),
    listNavReports: collection(
      source,
      'nav reports',
      () => source.canonical.snapshot().navReports,
      // Newest first.
      (row) => `${descending(BigInt(row.submittedAtEpochMs))} ${row.id}`,
    ),
  } satisfies Partial<Handlers>
}
