export type ServiceRole = (typeof ROLES)[number]

/** A role: one of these or one of your own, spelled alike in folders, YAML, metric labels and queue names. */
export type Role = string

/** The roles of the service that this repository staffs, each in its one spelling. */
export const ROLES = ['liquidator', 'allocator', 'nav-reporter', 'asset-manager', 'rfq-bidder'] as const

export const ROLE_NAME = /^[a-z][a-z0-9-]{0,39}$/
