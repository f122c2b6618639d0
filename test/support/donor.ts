import type { Donor } from '../../sandbox/service/grants/grants.ts'

/** Gives nothing: for services whose admissions and faucet no test asks for. */
export const poorDonor: Donor = { send: async () => [], resend: async () => true }
