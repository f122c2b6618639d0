import type { z } from 'zod'
import { settings } from '../../../service/contract/yaml-scalars.ts'
import type { RoleSanity } from '../judgement.ts'
import { channelLimits, claimChecks, wrapperChecks } from './channel.ts'
import { deploymentCheck } from './deployment.ts'

type Limits = Readonly<z.output<z.ZodObject<typeof channelLimits>>>

/** The partner's judgements, from the channel and its vault alone. */
export const partnerSanity: RoleSanity<Limits> = {
  limits: () => settings(channelLimits),
  checks: (limits) => [
    deploymentCheck('partner'),
    ...wrapperChecks('partner', limits),
    ...claimChecks(limits),
  ],
}
