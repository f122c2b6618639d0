import { WORKFLOW_CATALOGUE, type WorkflowType } from '../service/contract/workflow-types.ts'

/**
 * Whether preparing a workflow of a type is all there is to it: what it saves lives at the service, which asks for the
 * wallet's session and for no transaction. Pure.
 */
export const isMetadata = (type: WorkflowType): boolean =>
  WORKFLOW_CATALOGUE[type].executionMode === 'metadata_only'
