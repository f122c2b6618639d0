import type { EntityResource } from '../../../src/service/contract/directory-resources.ts'
import type { Handlers } from '../http/handler.ts'
import { collection, idOf, type Source } from './rows.ts'

/** Reads of who takes part, and of what the sandbox's protocol has none of: fees, wrappers, partner programs. */
export function directoryReads(source: Source, entities: readonly EntityResource[]) {
  const none = (what: string) => collection(source, what, () => [], idOf)
  return {
    listEntities: collection(source, 'entities', () => entities, idOf),
    // No contract takes a fee, wraps a vault or pays a partner: a row would be invented.
    listFees: none('fees'),
    listWrappers: none('wrappers'),
    listPartnerPrograms: none('partner programs'),
  } satisfies Partial<Handlers>
}
