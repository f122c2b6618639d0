import { refuse } from '../../../errors.ts'
import type { WorkflowType } from '../../../service/contract/workflow-types.ts'
import { asAddress } from '../../policy/values.ts'
import { account, type JudgedCase, type Judgement, type SanityCheck, unread, vaultOf } from '../judgement.ts'
import {
  HOLDER_VIEWS,
  OWNERSHIP_VIEWS,
  VAULT_ROLE_IDS,
  vaultAssetView,
  vaultRoleView,
} from '../vault-views.ts'

/** Who deploys a channel of a vault, and what of that the service has looked at again. */
const DEPLOYERS = {
  partner: { role: null, revalidation: null },
  curator: { role: 'curator', revalidation: 'vault_curator' },
  vault_manager: { role: 'manager', revalidation: 'vault_manager' },
} as const

const VIEWS = [
  ...OWNERSHIP_VIEWS.filter(({ name }) => name === 'hasRole'),
  ...HOLDER_VIEWS.filter(({ name }) => name === 'asset'),
]

/**
 * Judge a channel before it is deployed: we may for this vault, it is paid in what the vault lends, and whoever is to block
 * its accounts curates the vault. What it charges and who earns it is in the constructor's arguments, which the rules hold.
 */
function judgeDeployment(about: JudgedCase, deployer: keyof typeof DEPLOYERS): Judgement {
  const { subject, before } = about
  const { self, input } = subject
  const { role } = DEPLOYERS[deployer]
  const at = vaultOf(about)
  const [resellerAddress, curatorAddress] = [
    account(about, 'resellerAddress'),
    account(about, 'curatorAddress'),
  ]
  const asset = before.ask(vaultAssetView(at))
  const ours = role === null ? () => true : before.ask(vaultRoleView(at, VAULT_ROLE_IDS[role], self))
  const curates = before.ask(vaultRoleView(at, VAULT_ROLE_IDS.curator, curatorAddress))
  return {
    checkState: () => {
      const [token, mayDeploy, isCurator] = [asset(), ours(), curates()]
      if (token === null || mayDeploy === null || isCurator === null)
        return unread('the vault of the channel')
      // What a partner's channel earns is the partner's own.
      if (deployer === 'partner' && resellerAddress !== self)
        return refuse('reseller_not_us', `The channel's fees would be ${resellerAddress}'s, and not ours.`)
      if (!mayDeploy) return refuse(`not_${role ?? deployer}`, `The vault ${at} does not give us this role.`)
      if (token !== asAddress(input.assetAddress)) {
        return refuse(
          'asset_differs',
          `The vault ${at} lends ${token}; the channel was said to be of another asset.`,
        )
      }
      if (isCurator) return null
      return refuse('curator_not_of_vault', `${curatorAddress} does not curate ${at}.`)
    },
    checkOutcome: () => null,
  }
}

/** The judgement of a channel's deployment, by one of those who may. Pure. */
export const deploymentCheck = (deployer: keyof typeof DEPLOYERS): readonly [WorkflowType, SanityCheck] => {
  const { revalidation } = DEPLOYERS[deployer]
  return [
    `role.${deployer}.partnerChannelDeploy`,
    {
      views: VIEWS,
      relies: [
        ...['vaultAddress', 'curatorAddress', 'resellerAddress'],
        ...['resellerFeeBps', 'borrowerFeeBps', 'capAssets'],
      ],
      revalidations: [...(revalidation === null ? [] : [revalidation]), 'intent_not_expired'],
      judge: (about) => judgeDeployment(about, deployer),
    },
  ]
}
