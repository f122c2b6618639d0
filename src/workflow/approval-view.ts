/** One argument of a call: its path, and what it is or between what it lies, for people. */
export type ShownArgument = { readonly name: string; readonly value: string }

/** One call that the rules let pass for a proposal. */
export type ShownCall = {
  /** The contract, by the name that the run configuration gives it, and its address. */
  readonly to: string
  readonly function: string
  readonly arguments: readonly ShownArgument[]
  /** What else is to know of it: that it may be left out, or carries our signature. */
  readonly notes: readonly string[]
}

/** What would become of one thing; `from` is null where nothing is there yet. */
export type ShownChange = { readonly field: string; readonly from: string | null; readonly to: string }

/** What a person sees before it is approved, in our own words. What is approved is this, with what it was made of. */
export type ApprovalView = {
  readonly calls: readonly ShownCall[]
  /** What may leave us, must come in and is moved of others', and what it costs at most. */
  readonly effects: readonly string[]
  /** What is there now, and what it becomes, where the agent compared. */
  readonly changes: readonly ShownChange[]
  /** What the role's workflows add up to over 24 hours. */
  readonly day: string
  /** Who asks: a person, or the role's agent. */
  readonly askedBy: string
  /** So many must approve. */
  readonly quorum: number
  /**
   * Who may: each by name, with the user that is believed to be them where they have no key. Null: anybody who can write to
   * the keeper's records.
   */
  readonly approvers: readonly { readonly name: string; readonly user?: string }[] | null
}
