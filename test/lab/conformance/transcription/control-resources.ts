import { documented, each, type Resource } from './notation.ts'

/**
 * Errors, applications, keys, the sandbox and prepared workflows. Source: the document, "Error object",
 * "Application, key, access and sandbox resources" and "POST /v1/workflows/prepare".
 *
 * Where the document names some fields of a resource required and some optional and says nothing of the others,
 * those are marked `~`.
 */
export const CONTROL_RESOURCES: Readonly<Record<string, Resource>> = {
  ServiceApiError: documented({
    ok: '!boolean',
    ...each('code message requestId', '!string(1..200)'),
    retryable: '!boolean',
    blockedReason: 'string?',
    docsUrl: 'uri',
  }),
  ApplicationBootstrap: documented({
    ...each('id organizationId', '~string(1..200)'),
    environment: '~enum(test|live)',
    ...each('slug name', '~string'),
    scopes: '~string[]',
    secretKey: '~string',
    secretShownOnce: 'boolean',
  }),
  ApiKeyCreated: documented({
    ...each('id applicationId', '~string'),
    kind: '~enum(publishable|secret)',
    token: '~string(1..200)',
    scopes: '~string[]',
    origins: 'string[]',
    rotatedFromKeyId: 'string?',
    secretShownOnce: '!boolean',
    createdAt: 'ts',
  }),
  ProductionAccessRequestStatus: documented({
    ...each('id applicationId status', '!string'),
    scopes: '!string[]',
    requestedAt: '!ts',
  }),
  SandboxState: documented({
    ...each('id applicationId', '!string'),
    network: '!SandboxNetwork',
    ...each('deploymentNamespace fixtureSet', '!string'),
    status: '!string(1..100)',
    ...each('resourceQuota faucetQuota', '!object'),
    ...each('seededAt lastResetAt', '!ts?'),
  }),
  SandboxNetwork: documented({
    chainId: '~integer(1..)',
    ...each('network deploymentNamespace', '~string'),
    explorerUrl: '~uri?',
  }),
  PreparedWorkflow: documented({
    ok: '!boolean',
    requestId: '!string(1..200)',
    workflowType: '!WorkflowType',
    status: '!enum(prepared|final_success)',
    executionMode: '!enum(onchain_transaction|metadata_only)',
    custodyBoundary: '!enum(external_wallet_required|wallet_session_authenticated)',
    snapshotHash: '!hash',
    expiresAt: '!ts',
    preflight: '!WorkflowPreflight',
    transactions: '!TransactionIntent[]',
    canonicalPostconditions: '!CanonicalPostcondition[]',
  }),
  WorkflowPreflight: documented({
    status: '~enum(passed|blocked)',
    blockedReasons: '~string[]',
    freshness: '~Freshness',
    revalidateAtExecution: '~string[]',
  }),
  TransactionIntent: documented({
    order: '~integer(0..)',
    chainId: '~integer(1..)',
    transactionKind: '~enum(contract_call|contract_deployment)',
    target: '!addr?',
    calldata: '~pattern(^0x[a-fA-F0-9]*$)',
    value: '~uint-string',
    label: '~string(1..200)',
    simulationRequired: '~boolean',
    signing: 'SigningInstruction',
  }),
  SigningInstruction: documented({ kind: '~string', typedData: '~object', signaturePlacement: '~string' }),
  CanonicalPostcondition: documented({
    ...each('entityType entityId field', '~string(1..200)'),
    expected: '~any',
  }),
  EventEnvelope: documented({
    ...each('id type', '~string'),
    schemaVersion: '~integer',
    occurredAt: '~ts',
    subject: '~string',
    data: '~object',
  }),
}

/** Bodies of requests. Source: the document, "Endpoints". */
export const REQUEST_BODIES: Readonly<Record<string, Resource>> = {
  GraphqlQuery: documented({ query: '!string' }),
  ApplicationCreate: documented({
    name: '!string(2..120)',
    slug: 'pattern(^[a-z0-9-]{1,64}$)',
    environment: '!enum(test|live)',
    scopes: '!string[]',
  }),
  ApiKeyCreate: documented({
    kind: '!enum(publishable|secret)',
    scopes: '!string[]',
    origins: 'uri[]',
  }),
  ProductionAccessRequestCreate: documented({ scopes: '!string[]', useCase: '!string(20..4000)' }),
  SandboxReset: documented({ fixtureSet: 'string' }),
  WorkflowPrepareRequest: documented({
    workflowType: '!WorkflowType',
    chainId: '!integer(1..)',
    deploymentNamespace: 'string?',
    principalAddress: 'addr',
    input: '!object',
    constraints: 'object',
  }),
}
