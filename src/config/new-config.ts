/** What a run configuration is written of; each value as it stands in the file. */
export type NewConfig = {
  readonly environment: 'sandbox' | 'production'
  readonly directory: string
  readonly chainId: number
  readonly read: readonly string[]
  readonly send: readonly string[]
  readonly serviceUrl: string
  readonly secretKey: string
  readonly kms: Readonly<Record<string, string>>
  readonly deployment: Readonly<
    Record<'assets' | 'markets' | 'vaults' | 'funds' | 'contracts', readonly object[]>
  > & {
    readonly namespace: string
  }
  readonly agents: readonly {
    readonly role: string
    readonly policy: string
    readonly keyId: string
    readonly address: string
    readonly secretKey?: string
  }[]
  readonly sources: readonly object[]
  /** How many nodes must agree. */
  readonly agree: number
  readonly schema: string
}

/** A value as YAML in one line: JSON is YAML, and every scalar of ours is text. */
const flow = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'number' ? String(each) : each))

const list = (items: readonly object[], indent: string): string =>
  items.length === 0 ? ' []' : items.map((item) => `\n${indent}- ${flow(item)}`).join('')

/** Write a run configuration with what a person should know of each part. Pure. */
export const newConfigText = (config: NewConfig): string => {
  const { deployment } = config
  return `# yaml-language-server: $schema=${config.schema}
# Written by \`rolekeeper init\`: read it from top to bottom. config/example.yaml explains all that could stand here.
# Then: rolekeeper doctor --config FILE, and rolekeeper run --config FILE.
# Every value is text. A secret is a reference: \`env:NAME\`, \`file:PATH\`, \`aws:NAME\` or \`vault:PATH#FIELD\` (docs/secrets.md).

environment: ${config.environment}

# The journal (what we did) and the kill and pause files: on a disk of its own, one process a directory.
directory: ${flow(config.directory)}

chain:
  id: "${config.chainId}"
  finality: finalized
  nodes:
    # Reads and simulations: of different providers, better three than two.
    read: ${flow(config.read)}
    # How many of them must say the same before anything counts.
    agree: "${config.agree}"
    # Where signed transactions go.
    send: ${flow(config.send)}

service:
  url: ${flow(config.serviceUrl)}
  # The keeper's own key, with the scope events:read, and that of every role without one of its own.
  secretKey: ${config.secretKey}

# What the keeper must be allowed on the keys below, and no more: config/aws/keeper-policy.json.
kms: ${flow(config.kms)}

# /metrics, /healthz and /readyz: on loopback or a private network, as they have no authentication.
ops: { host: 127.0.0.1, port: ${config.environment === 'sandbox' ? '"0"' : '"9464"'} }

# The contracts that may be talked to, each by the hash of the code that it ran when this was written; a person confirmed every
# address. Code that changes is refused until a person has looked and pinned it again.
deployment:
  namespace: ${flow(deployment.namespace)}
  assets:${list(deployment.assets, '    ')}
  markets:${list(deployment.markets, '    ')}
  vaults:${list(deployment.vaults, '    ')}
  funds:${list(deployment.funds, '    ')}
  # Others, by the names that policies give them: a second price, a desk, an auction, a factory, an oracle.
  contracts:${list(deployment.contracts, '    ')}

# In shadow a role signs nothing: it says what it would have done, and is scored by what happens (rolekeeper shadow). Write
# \`mode: live\` once you have read its policy and looked at its shadow.
agents:${config.agents
    .map(
      ({ role, policy, keyId, address, secretKey }) => `
  - role: ${role}
    mode: shadow
    policy: ${flow(policy)}${secretKey === undefined ? '' : `\n    secretKey: ${secretKey}`}
    signer: { kms: ${flow({ keyId, address })} }`,
    )
    .join('')}

# Outside sources of values, by the names that policies call them: a NAV reporter needs them (docs/nav-sources.md).
sources:${list(config.sources, '  ')}
`
}
