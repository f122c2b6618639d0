import { SANDBOX_STAGES } from './tenant-resources.ts'
import { SERVICE_CATALOGUE } from './workflow-types.ts'

/** What of the canonical state changed. Source: service API, "Event types". */
const RESOURCE_EVENT_TYPES = [
  'activity.updated',
  'allocation.intelligence.updated',
  'assets.updated',
  'credit.facilities.updated',
  'deployments.updated',
  'eligibility.updated',
  'entities.updated',
  'fees.updated',
  'funds.updated',
  'liquidation.recovery.updated',
  'markets.updated',
  'messaging.updated',
  'nav.reports.updated',
  'networks.updated',
  'oracles.updated',
  'partner.programs.updated',
  'positions.updated',
  'tranches.updated',
  'vaults.updated',
] as const

/** What became of an application's sandbox. Source: service API, "Event types". */
const SANDBOX_EVENT_TYPES = [
  'sandbox.provisioned',
  'sandbox.reset.requested',
  'sandbox.reset.completed',
  ...SANDBOX_STAGES.map((stage) => `sandbox.admission.${stage}` as const),
  ...SANDBOX_STAGES.map((stage) => `sandbox.faucet.claim.${stage}` as const),
] as const

/** Every event type that can be asked for; a workflow has one of its own. */
export const EVENT_TYPES: ReadonlySet<string> = new Set([
  ...RESOURCE_EVENT_TYPES,
  ...SANDBOX_EVENT_TYPES,
  ...Object.values(SERVICE_CATALOGUE).map(({ eventType }) => eventType),
])
