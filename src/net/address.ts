import ipaddr from 'ipaddr.js';

/** Who asks for a connection: the address rules differ by how far the address is the operator's own word. */
export interface AddressRules {
  /** Addresses of this machine and of private networks are wanted, because the operator configured them. */
  readonly allowPrivate: boolean;
}

/** Ranges an operator may mean by a private address. */
const PRIVATE: ReadonlySet<string> = new Set(['private', 'loopback', 'uniqueLocal', 'carrierGradeNat']);

/** Addresses in public or private ranges under which clouds hand out credentials; never wanted. */
const METADATA: ReadonlySet<string> = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2::254']);

/**
 * Why an address may not be connected to, or undefined when it may. IPv4 addresses wrapped in IPv6 are judged as
 * what they are; whatever is not plainly public (link-local, multicast, reserved, 6to4, NAT64 …) is refused.
 */
export function mistakeInAddress(address: string, rules: AddressRules): string | undefined {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (!ipaddr.isValid(bare)) return `${address} is no address`;
  const parsed = ipaddr.process(bare);
  if (METADATA.has(parsed.toString())) return `${parsed.toString()} is a cloud's metadata address`;
  const range = parsed.range();
  if (range === 'unicast') return undefined;
  if (PRIVATE.has(range)) {
    if (rules.allowPrivate) return undefined;
    return `${parsed.toString()} is a private address`;
  }
  return `${parsed.toString()} is not a public address (${range})`;
}

/** Whether a host, as a URL holds it, is an address and not a name. */
export function isAddress(hostname: string): boolean {
  return ipaddr.isValid(hostname.replace(/^\[|\]$/g, ''));
}
