import { z } from 'zod'
import type { RoleSanity } from '../judgement.ts'
import { blockCheck } from './block.ts'
import { deploymentCheck } from './deployment.ts'

/** The curator's judgements, which need no limits: it is we who may, and afterwards it is as was asked for. */
export const curatorSanity: RoleSanity = {
  limits: () => z.strictObject({}),
  checks: () => [deploymentCheck('curator'), blockCheck],
}
