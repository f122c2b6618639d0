import { type Attack, approves, lastOf, STRANGER, withEach, withLast } from './attack.ts'

type Typed = Readonly<Record<string, unknown>>
type Signing = { readonly kind: string; readonly typedData: Typed; readonly signaturePlacement: string }

/** An answer that asks for another signature than its call carries. */
const signing = (
  name: string,
  change: (signing: Signing) => Partial<Signing>,
  check: string,
  incident?: string,
): Attack => ({
  name,
  ...(incident === undefined ? {} : { incident }),
  on: ({ answer }) => {
    const honest = lastOf(answer).signing
    return honest === undefined ? null : withLast(answer, { signing: { ...honest, ...change(honest) } })
  },
  check,
})
/** An answer whose typed data is not ours. */
export const typed = (name: string, change: (typedData: Typed) => Typed, incident?: string): Attack =>
  signing(name, ({ typedData }) => ({ typedData: change(typedData) }), 'typed_data_mismatch', incident)

const domain = (name: string, changes: Typed): Attack =>
  typed(name, (data) => ({ ...data, domain: { ...Object(data.domain), ...changes } }))
const message = (name: string, change: (message: Typed) => Typed): Attack =>
  typed(name, (data) => ({ ...data, message: change(Object(data.message)) }))
const primary = (name: string, primaryType: string, incident?: string): Attack =>
  typed(
    name,
    (data) => ({
      ...data,
      primaryType,
      types: { [primaryType]: Object(data.types)[String(data.primaryType)] },
    }),
    incident,
  )
/** The members of our own type, changed. */
const members = (name: string, change: (fields: readonly Typed[]) => readonly Typed[]): Attack =>
  typed(name, (data) => {
    const type = String(data.primaryType)
    return { ...data, types: { [type]: change(Object(data.types)[type]) } }
  })
/** A member of the message that is a word of digits. */
const digits = (name: string, key: string, change: (value: bigint) => unknown): Attack =>
  message(name, (honest) => ({ ...honest, [key]: change(BigInt(String(honest[key]))) }))

const OTHER = `0x${'98'.repeat(20)}`
/** Typed data of others, as wallets are shown it. */
const PERMIT = {
  types: {
    Permit: [
      { name: 'owner', type: 'address' },
      { name: 'spender', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
  },
  primaryType: 'Permit',
  message: {
    owner: OTHER,
    spender: STRANGER,
    value: `${2n ** 256n - 1n}`,
    nonce: '0',
    deadline: `${2n ** 256n - 1n}`,
  },
} as const

/** Answers that ask us to sign what we did not mean. */
export const SIGNATURE_ATTACKS: readonly Attack[] = [
  domain('signs for the contract of a stranger', { verifyingContract: STRANGER }),
  domain('signs for another chain', { chainId: 1 }),
  domain('signs for chain zero', { chainId: 0 }),
  domain('signs for a chain in words', { chainId: 'one' }),
  domain('signs under another name', { name: 'USD Coin' }),
  domain('signs under a name in letters of another alphabet', { name: 'NavOraclе' }),
  domain('signs under another version', { version: '2' }),
  domain('signs under a version that is a number', { version: 1 }),
  domain('signs with a salt', { salt: `0x${'11'.repeat(32)}` }),
  typed('signs under no domain', ({ domain: _none, ...data }) => data),
  typed('signs under a domain that is null', (data) => ({ ...data, domain: null })),
  typed('signs what has a member that nobody knows', (data) => ({ ...data, digest: `0x${'11'.repeat(32)}` })),
  typed('signs nothing', () => ({})),
  typed('signs a list', () => ({ 0: 'x' })),
  primary('signs a Permit of our members', 'Permit'),
  primary('signs a PermitSingle', 'PermitSingle'),
  primary('signs a PermitBatch', 'PermitBatch'),
  primary('signs a PermitTransferFrom', 'PermitTransferFrom'),
  primary('signs a PermitBatchTransferFrom', 'PermitBatchTransferFrom'),
  primary('signs a PermitWitnessTransferFrom', 'PermitWitnessTransferFrom'),
  primary('signs the transaction of a Safe', 'SafeTx'),
  primary('signs the message of a Safe', 'SafeMessage'),
  primary('signs a user operation', 'UserOperation'),
  primary('signs a packed user operation', 'PackedUserOperation'),
  primary('signs an order to sell', 'OrderComponents'),
  primary('signs a bulk order', 'BulkOrder'),
  primary('signs a delegation', 'Delegation'),
  primary('signs an authorisation', 'Authorization'),
  primary('signs a transfer with an authorisation', 'TransferWithAuthorization'),
  primary('signs its own domain', 'EIP712Domain'),
  primary('signs a type whose name holds its members', 'NavReport(address asset)'),
  typed('signs a whole Permit of another token', (data) => ({
    ...PERMIT,
    domain: { ...Object(data.domain), name: 'USD Coin', verifyingContract: STRANGER },
  })),
  typed('signs a whole Permit under our domain', ({ domain: ours }) => ({ ...PERMIT, domain: ours })),
  typed('signs our report, and defines a Permit beside it', (data) => ({
    ...data,
    types: { ...Object(data.types), ...PERMIT.types },
  })),
  typed('signs a type that is not defined', (data) => ({ ...data, types: {} })),
  members('signs a member less', (fields) => fields.slice(1)),
  members('signs a member more', (fields) => [...fields, { name: 'spender', type: 'address' }]),
  members('signs its members in another order', (fields) => [...fields.slice(1), ...fields.slice(0, 1)]),
  members('signs a member twice', (fields) => [...fields, ...fields.slice(0, 1)]),
  members('signs a member of another type', (fields) =>
    fields.map((field) => (field.name === 'value' ? { ...field, type: 'int256' } : field)),
  ),
  members('signs a member whose type holds another', (fields) =>
    fields.map((field) => (field.name === 'value' ? { ...field, type: 'uint256 value,address' } : field)),
  ),
  members('signs a member whose name holds another', (fields) =>
    fields.map((field) => (field.name === 'value' ? { ...field, name: 'value,address spender' } : field)),
  ),
  members('signs members with something beside', (fields) =>
    fields.map((field) => ({ ...field, indexed: true })),
  ),
  message('signs for another asset', (honest) => ({ ...honest, asset: STRANGER })),
  digits('signs a value of one more', 'value', (value) => String(value + 1n)),
  digits('signs a value of nothing', 'value', () => '0'),
  digits('signs a value as a number that loses digits', 'value', (value) => Number(value)),
  digits('signs a value with blanks round it', 'value', (value) => ` ${value} `),
  digits(
    'signs a value with a zero in front of a word of digits too long',
    'value',
    (value) => `${'0'.repeat(90)}${value}`,
  ),
  digits('signs a value below zero', 'value', (value) => `-${value}`),
  digits('signs a value beyond its type', 'value', (value) => String(value + 2n ** 256n)),
  digits('signs a valuation of another moment', 'valuationTime', (value) => String(value + 1n)),
  digits('signs a report of a longer life', 'deadline', (value) => String(value + 3_600n)),
  message('signs another label', (honest) => ({ ...honest, revisionLabel: `${honest.revisionLabel} ` })),
  message('signs a label in another form of the same letters', (honest) => ({
    ...honest,
    revisionLabel: 'dаily',
  })),
  message('signs a message with a member more', (honest) => ({ ...honest, spender: STRANGER })),
  message('signs a message with a member less', ({ revision: _none, ...honest }) => honest),
  message('signs a message that nests', (honest) => ({ ...honest, value: { value: honest.value } })),
  signing(
    'places the signature behind the call',
    () => ({ signaturePlacement: 'append' }),
    'signature_placement',
  ),
  signing(
    'places the signature over the report',
    () => ({ signaturePlacement: 'argument:0' }),
    'signature_placement',
  ),
  signing('places the signature nowhere', () => ({ signaturePlacement: '' }), 'signature_placement'),
  signing('asks to sign blindly', () => ({ kind: 'eth_sign' }), 'signing_kind'),
  signing('asks for a personal message', () => ({ kind: 'personal_sign' }), 'signing_kind'),
  signing('asks for an authorisation of EIP-7702', () => ({ kind: 'eip7702' }), 'signing_kind'),
  {
    name: 'asks for a signature beside the call',
    on: ({ answer }) => {
      const { signing: asked } = lastOf(answer)
      const theirs = {
        kind: 'eip712',
        typedData: { ...PERMIT, domain: {} },
        signaturePlacement: 'argument:1',
      }
      return asked === undefined ? withLast(answer, { signing: theirs }) : null
    },
    check: 'signing_not_allowed',
  },
  {
    name: 'asks for a signature beside the approval',
    on: ({ answer }) => {
      const theirs = { kind: 'eip712', typedData: { ...PERMIT, domain: {} }, signaturePlacement: 'append' }
      if (!answer.transactions.some(approves)) return null
      return withEach(answer, (intent) => (approves(intent) ? { ...intent, signing: theirs } : intent))
    },
    check: 'signing_not_allowed',
  },
  {
    name: 'asks for no signature where the call takes one',
    on: ({ answer }) => {
      const { signing: asked, ...plain } = lastOf(answer)
      return asked === undefined
        ? null
        : { ...answer, transactions: [...answer.transactions.slice(0, -1), plain] }
    },
    check: 'signing_missing',
  },
]
