/** A role: one of these or one of your own, spelled alike in folders, YAML, metric labels and queue names. */
export type Role = string

/** The roles of the service that this repository staffs, each in its one spelling. */
export const ROLES = ['liquidator', 'allocator', 'nav-reporter', 'asset-manager', 'rfq-bidder'] as const

/** The roles that a person works by hand: no agent decides for them, and every other check is as anywhere. */
export const HAND_ROLES = ['vault-owner', 'partner', 'curator', 'investor'] as const

export const ROLE_NAME = /^[a-z][a-z0-9-]{0,39}$/

/** Every role that has a policy here. */
export const SHIPPED_ROLES = [...ROLES, ...HAND_ROLES] as const
