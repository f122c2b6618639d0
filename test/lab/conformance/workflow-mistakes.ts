/** A mistake to be made in a copy of the source, and the row that must report it. */
export type Mistake = {
  readonly name: string
  readonly file: string
  /** A text that the file holds once, and what it becomes. */
  readonly from: string
  readonly to: string
  /** The row that must fail, and what it must say. */
  readonly row: string
  readonly says: RegExp
}

const TYPES = 'src/service/contract/workflow-types.ts'
const JUDGES = 'sandbox/service/workflows'

/** Makes the row of a type in the catalogue from its role, name and input, otherwise than it should. */
const inCatalogue = (row: string, made: string, maker: 'onchain' | 'metadataOnly' = 'onchain') => ({
  file: TYPES,
  from: `  '${row}': ${maker}(`,
  to: `  '${row}': ((role, name, input) => (${made}))(`,
  row,
})

/** A type whose event has another name: nobody who waits for the document's hears of it. */
const eventMistake = (row: string, maker: 'onchain' | 'metadataOnly' = 'onchain'): Mistake => ({
  name: `another event of ${row}`,
  ...inCatalogue(row, `${maker}(role, 'somethingElse', input)`, maker),
  says: new RegExp(`no event workflow\\.${row.split('.').at(-1)}\\.updated`),
})

/** A type of which no member is needed. */
const partialMistake = (row: string, maker: 'onchain' | 'metadataOnly' = 'onchain'): Mistake => ({
  name: `an input of ${row} that may lack members`,
  ...inCatalogue(row, `${maker}(role, name, input.partial())`, maker),
  says: /^an input without \w+: \d+, not 400$/,
})

/** A type that takes members which nobody knows. */
const looseMistake = (row: string): Mistake => ({
  name: `an input of ${row} with a member too many`,
  ...inCatalogue(row, 'onchain(role, name, input.loose())'),
  says: /^an input with a member too many: 200, not 400$/,
})

/** Mistakes in workflows of the vault's owner. */
const OWNERS: readonly Mistake[] = [
  eventMistake('role.vault_owner.attachMarketToVault'),
  {
    name: 'an owner who moves half of what is said',
    file: `${JUDGES}/allocator.ts`,
    from: "    preparer('role.vault_owner.vaultAllocate', allocate(OWNER)),",
    to: "    preparer('role.vault_owner.vaultAllocate', (input, ...rest) => allocate(OWNER)({ ...input, assets: String(BigInt(input.assets) / 2n) }, ...rest)),",
    row: 'role.vault_owner.vaultAllocate',
    says: /the chain's figure went from/,
  },
  eventMistake('role.vault_owner.vaultDeallocate'),
  looseMistake('role.vault_owner.vaultReallocationBatch'),
  {
    name: 'an allocator that a session is to appoint',
    ...inCatalogue(
      'role.vault_owner.vaultAllocatorUpdate',
      "{ ...onchain(role, name, input), custodyBoundary: 'wallet_session_authenticated' }",
    ),
    says: /custodyBoundary is wallet_session_authenticated, not external_wallet_required/,
  },
  partialMistake('role.vault_owner.vaultCuratorCapsSettingsSave'),
  looseMistake('role.vault_owner.vaultCuratorFeeSettingsSave'),
  {
    name: 'a fee of one basis point more',
    file: `${JUDGES}/owner-fees.ts`,
    from: '      args: [managementFeeBps, performanceFeeBps, recipientAddress],',
    to: '      args: [managementFeeBps, performanceFeeBps + 1, recipientAddress],',
    row: 'role.vault_owner.vaultFeeConfigUpdate',
    says: /the chain's figure went from/,
  },
  {
    name: 'a record that nobody has to sign in for',
    file: 'sandbox/service/prepare.ts',
    from: "WORKFLOW_CATALOGUE[type].custodyBoundary === 'wallet_session_authenticated' && caller.wallet === null",
    to: "type === 'borrow' && caller.wallet === null",
    row: 'role.vault_owner.vaultManagementSettingsSave',
    says: /^without a session: \d+, not 403$/,
  },
  {
    name: 'a class that is saved with the risk of another',
    file: `${JUDGES}/owner-records.ts`,
    from: "{ kind: 'owner_settings', key: vault.address, body: input, status: 'saved' }",
    to: "{ kind: 'owner_settings', key: vault.address, body: { ...input, riskScore: 0 }, status: 'saved' }",
    row: 'role.vault_owner.vaultOwnerSettingsSave',
    says: /the service's figure went from 0 to 0/,
  },
  {
    name: 'a wallet that prepares for another',
    file: 'sandbox/service/prepare.ts',
    from: 'caller.wallet !== null && principal !== caller.wallet',
    to: "caller.wallet !== null && principal !== caller.wallet && type === 'borrow'",
    row: 'role.vault_owner.vaultOwnerTransferUpdate',
    says: /^for another wallet: 200, not 403$/,
  },
  {
    name: 'a role whose success nobody could see',
    file: `${JUDGES}/owner-roles.ts`,
    from: "become('vault_role', entityIdOf(address, role, account), { granted })",
    to: '[]',
    row: 'role.vault_owner.vaultRoleSettingsSave',
    says: /^it has no postcondition$/,
  },
  partialMistake('role.vault_owner.vaultRoutingUpdate'),
  {
    name: 'a least deposit of one unit more',
    file: `${JUDGES}/owner-settings.ts`,
    from: '  minDepositAssets: BigInt(input.minDepositAssets),',
    to: '  minDepositAssets: BigInt(input.minDepositAssets) + 1n,',
    row: 'role.vault_owner.vaultSettingsUpdate',
    says: /the chain's figure went from/,
  },
]

/** Mistakes in workflows of partners, and of who manages the vault. */
const PARTNERS: readonly Mistake[] = [
  eventMistake('role.partner.partnerSubmitApplication', 'metadataOnly'),
  {
    name: 'a deployment that calls itself a call',
    file: `${JUDGES}/intents.ts`,
    from: "target === null ? 'contract_deployment' : 'contract_call'",
    to: "'contract_call'",
    row: 'role.partner.partnerChannelDeploy',
    says: /^intent 0 is a contract_call of null$/,
  },
  partialMistake('role.partner.partnerWrapperDeposit'),
  looseMistake('role.partner.partnerWrapperRedeem'),
  {
    name: 'fee shares that stay with their reseller',
    file: `${JUDGES}/channel-claims.ts`,
    from: '    args: [shares, input.recipientAddress],',
    to: '    args: [shares, state.reseller],',
    row: 'role.partner.partnerFeeSharesClaim',
    says: /the chain's figure went from 0 to 0/,
  },
  {
    name: "a borrowers' fee that goes to the curator",
    file: `${JUDGES}/channel-claims.ts`,
    from: '    args: [input.recipientAddress, minAssets],',
    to: '    args: [state.curator, minAssets],',
    row: 'role.partner.partnerBorrowerFeeClaim',
    says: /the chain's figure went from 0 to 0/,
  },
  eventMistake('role.vault_manager.partnerChannelDeploy'),
]

/** Mistakes in workflows of curators and asset issuers. */
const CURATORS: readonly Mistake[] = [
  looseMistake('role.curator.partnerChannelDeploy'),
  {
    name: 'somebody let in who was to be kept out',
    file: `${JUDGES}/channel-block.ts`,
    from: '    args: [accountAddress, next],',
    to: '    args: [accountAddress, !next],',
    row: 'role.curator.partnerChannelBlockedUpdate',
    says: /the chain's figure went from 0 to 0/,
  },
  {
    name: 'a listing that is said to be signed outside',
    ...inCatalogue(
      'role.curator.vaultMarketListingSave',
      "{ ...metadataOnly(role, name, input), executionMode: 'onchain_transaction' }",
      'metadataOnly',
    ),
    says: /executionMode is onchain_transaction, not metadata_only/,
  },
  partialMistake('role.asset_issuer.assetSubmissionRequestCreate', 'metadataOnly'),
]

/** Mistakes in workflows of investors. */
const INVESTORS: readonly Mistake[] = [
  looseMistake('role.investor.partnerWrapperDeposit'),
  eventMistake('role.investor.partnerWrapperRedeem'),
  {
    name: 'half the shares in the queue',
    file: `${JUDGES}/investor.ts`,
    from: '    ...requestWithdrawal(input, moment, reads),',
    to: '    ...requestWithdrawal({ ...input, shares: String(BigInt(input.shares) / 2n) }, moment, reads),',
    row: 'role.lender.investorRequestRedeem',
    says: /the chain's figure went from/,
  },
  eventMistake('role.lender.investorFulfillRedeem'),
  {
    name: 'half the shares for their new owner',
    file: `${JUDGES}/investor.ts`,
    from: '  const shares = BigInt(input.shares)\n',
    to: '  const shares = BigInt(input.shares) / 2n\n',
    row: 'role.lender.vaultShareMobilityInvestorAction',
    says: /the chain's figure went from/,
  },
]

/** One mistake at least for each type that people work by hand; each leaves the types that come after it reachable. */
export const WORKFLOW_MISTAKES: readonly Mistake[] = [...OWNERS, ...PARTNERS, ...CURATORS, ...INVESTORS]
