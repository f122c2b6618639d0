/** What each source is read from and signed by, by its name in the run configuration: texts that are alike where it is the same. */
export type Upstreams = ReadonlyMap<string, readonly string[]>

/** A policy in which sources that share an upstream count together; or what cannot hold then, and where in `strategy`. */
export type Joined<Policy> =
  | { readonly policy: Policy }
  | Readonly<Record<'path' | 'problem' | 'fix', string>>
