import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An address of a host, as node's connections take it. */
export type HostAddress = { readonly address: string; readonly family: 4 | 6 }

/** Finds every address of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** Ask the machine's own resolver. */
export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address)

/**
 * Read a receiver's URL: HTTPS without credentials, to nothing that is a private address by its spelling. Pure.
 * @param allowLoopback whether plain HTTP is taken, for receivers on this machine.
 * @returns null for a URL that deliveries may not go to.
 */
export function readReceiverUrl(text: string, allowLoopback: boolean): URL | null {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return null
  if (url.protocol !== 'https:' && !(allowLoopback && url.protocol === 'http:')) return null
  const hostname = hostnameOf(url)
  if (isIP(hostname) !== 0) return permitted([hostname], url, allowLoopback) ? url : null
  const isLocalName = /(^|\.)localhost\.?$/i.test(hostname)
  return isLocalName && !allowLoopback ? null : url
}

/**
 * Find the addresses that a delivery may connect to, anew at each delivery: a name can move. Source: service API,
 * "Webhook delivery".
 * @returns none when the name has none, or when any of them is not permitted.
 */
export async function receiverAddresses(
  url: URL,
  allowLoopback: boolean,
  resolve: Resolve,
): Promise<readonly HostAddress[]> {
  const hostname = hostnameOf(url)
  const addresses = isIP(hostname) === 0 ? await resolve(hostname).catch(() => []) : [hostname]
  if (!permitted(addresses, url, allowLoopback)) return []
  return addresses.map((address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }))
}

/** A URL spells an IPv6 address in brackets. */
const hostnameOf = (url: URL) => url.hostname.replace(/^\[(.*)\]$/, '$1')

/** Every one of them: a name with a public and a private address is meant to reach the second. */
function permitted(addresses: readonly string[], url: URL, allowLoopback: boolean): boolean {
  if (addresses.length === 0) return false
  const isLoopback = addresses.every((address) => rangeOf(address) === 'loopback')
  if (isLoopback) return allowLoopback
  return url.protocol === 'https:' && addresses.every((address) => rangeOf(address) === 'public')
}

function rangeOf(text: string): 'public' | 'loopback' | 'other' {
  if (!ipaddr.isValid(text)) return 'other'
  // An IPv4 address in IPv6 clothes is the IPv4 address.
  const address = ipaddr.process(text)
  const range = address.range()
  if (range === 'loopback') return 'loopback'
  // Of IPv6, only 2000::/3 is given out for public use.
  const isGiven = address.kind() === 'ipv4' || (address.toByteArray()[0] ?? 0) >> 5 === 1
  return range === 'unicast' && isGiven ? 'public' : 'other'
}
