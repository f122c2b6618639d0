/** What each source is read from and signed by, by its name in the run configuration: texts that are alike where it is the same. */
export type Origins = ReadonlyMap<string, readonly string[]>

/** A policy whose sources count together where they have an origin in common; or what cannot hold then, and where in `strategy`. */
export type Joined<Policy> =
  | { readonly policy: Policy }
  | Readonly<Record<'path' | 'problem' | 'fix', string>>
