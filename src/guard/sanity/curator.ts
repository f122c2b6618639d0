import { z } from 'zod'
import { blockCheck } from './channel-block.ts'
import { deploymentCheck } from './channel-deployment.ts'
import type { RoleSanity } from './judgement.ts'

/** The curator's judgements, which need no limits: it is we who may, and afterwards it is as was asked for. */
export const curatorSanity: RoleSanity = {
  limits: () => z.strictObject({}),
  checks: () => [deploymentCheck('curator'), blockCheck],
}
