import type {
  EntityResource,
  PartnerProgramResource,
} from '../../../src/service/contract/directory-resources.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { lower } from '../../indexer/logs.ts'
import { type Participant, participantsOf } from '../../indexer/participants.ts'
import type { Handlers } from '../http/handler.ts'
import type { ServiceRecord, ServiceRecords } from '../records.ts'
import { collection, idOf, type Source } from './rows.ts'

/** Reads of who takes part, of the channels that they opened, and of what is charged. */
export function directoryReads(
  source: Source,
  cast: readonly EntityResource[],
  records: Pick<ServiceRecords, 'list'>,
) {
  const now = () => source.canonical.snapshot()
  const applications = () => records.list('partner_application')
  return {
    listEntities: collection(source, 'entities', () => entitiesOf(cast, now(), applications()), idOf),
    listFees: collection(source, 'fees', () => now().fees, idOf),
    listWrappers: collection(source, 'wrappers', () => now().wrappers, idOf),
    listPartnerPrograms: collection(
      source,
      'partner programs',
      () => programsOf(now(), applications()),
      idOf,
    ),
  } satisfies Partial<Handlers>
}

/**
 * List the sandbox's cast, whoever else the chain shows to take part, and who applied to be a partner; each wallet once. One of
 * the chain has its wallet as id. Pure.
 */
export function entitiesOf(
  cast: readonly EntityResource[],
  snapshot: Snapshot,
  applications: readonly ServiceRecord[],
): readonly EntityResource[] {
  const known = new Set(cast.map(({ walletAddress }) => walletAddress?.toLowerCase()))
  const applied = new Map(applications.map((record) => [lower(record.wallet), record]))
  const approved = new Set(applications.filter(({ status }) => status === 'approved').map(({ key }) => key))
  const isApproved = (vault: string, reseller: string) => approved.has(`${vault}:${reseller}`)
  const others = participantsOf(snapshot, isApproved).filter(({ walletAddress }) => !known.has(walletAddress))
  for (const { walletAddress } of others) known.add(walletAddress)
  return [
    ...cast,
    ...others.map((one) => participant(one, applied.get(one.walletAddress))),
    ...[...applied]
      .filter(([wallet]) => !known.has(wallet))
      .map(([walletAddress, record]) => ({
        ...participant({ kind: 'partner', walletAddress }, record),
        status: record.status,
      })),
  ]
}

/** Nobody but a partner says its name: the others are called by what they are. */
const participant = (
  { kind, walletAddress }: Participant,
  application: ServiceRecord | undefined,
): EntityResource => ({
  id: walletAddress,
  kind,
  name: String(
    application?.body.partnerName ??
      `${kind.replace('_', ' ')} ${walletAddress.slice(0, 6)}…${walletAddress.slice(-4)}`,
  ),
  walletAddress,
  status: 'active',
})

/**
 * List who applied to offer which vault, as `vault:partner`: as far as the review is, and `active` once it is approved and the
 * chain has a channel of theirs, deployed by who may. Anybody can deploy a channel: one without an application makes no program. Pure.
 */
function programsOf(
  { channels }: Snapshot,
  applications: readonly ServiceRecord[],
): readonly PartnerProgramResource[] {
  const entitled = channels.filter(({ entry }) => entry.isEntitled)
  const deployed = new Set(entitled.map(({ state, entry }) => `${entry.vault}:${lower(state.reseller)}`))
  return applications.map(({ key, body, status }) => ({
    id: key,
    vaultId: key.split(':')[0] ?? null,
    name: String(body.partnerName),
    status: status === 'approved' && deployed.has(key) ? 'active' : status,
  }))
}
